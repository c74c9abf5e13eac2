"""MariaDB's rows as they are sent: whole ones, of any length, and the same bytes only for the same row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.test_mysql_rows import ROWS, TABLE
from tieout import api
from tieout.config.urls import parse_url
from tieout.connectors.mysql.protocol import packets
from tieout.connectors.mysql.protocol.rows import sent_rows
from tieout.errors import MissingObjectError
from tieout.model.requests import TableRequest
from tieout.model.results import Strategy, Verdict, VerificationResult

FULL = 0xFFFFFF
AROUND_IT = 10
"""What a packet of an INT and a LONGBLOB has besides the bytes of the latter."""


def rows(database: Any, statement: str) -> list[bytes]:
    return [row for batch in sent_rows(parse_url(database.url), statement) for row in batch.to_pylist()]


def payloads(database: Any, statement: str) -> list[bytes]:
    """Without headers; for rows of one packet."""
    return [row[4:] for row in rows(database, statement)]


def test_a_row_is_its_values_in_binary(mysql_db: Any) -> None:
    assert payloads(mysql_db, "SELECT CAST(1 AS SIGNED) AS a, 'xy' AS b, NULL AS c") == [
        b"\0" + bytes([0b10000]) + (1).to_bytes(4, "little") + b"\2xy"
    ]


def test_no_row_at_all(mysql_db: Any) -> None:
    mysql_db.execute("CREATE TABLE t (id INT)")
    assert rows(mysql_db, "SELECT * FROM t") == []


def test_an_error_instead_of_rows(mysql_db: Any) -> None:
    with pytest.raises(MissingObjectError):
        rows(mysql_db, "SELECT * FROM nothing")


def test_rows_in_batches_and_packets_cut_anywhere(mysql_db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = "SELECT seq, REPEAT('x', seq % 300) FROM seq_1_to_5000"
    whole = rows(mysql_db, statement)
    assert len(set(whole)) == len(whole) == 5000
    monkeypatch.setattr(packets, "_READ_BYTES", 61)
    monkeypatch.setattr(packets, "PIECE_BYTES", 1000)
    assert rows(mysql_db, statement) == whole


@pytest.fixture
def roomy(mysql_db: Any) -> Iterator[Any]:
    ((before,),) = mysql_db.rows("SELECT @@GLOBAL.max_allowed_packet")
    mysql_db.execute("SET GLOBAL max_allowed_packet = 1 << 26")
    yield mysql_db
    mysql_db.execute(f"SET GLOBAL max_allowed_packet = {before}")


@pytest.mark.parametrize("length", [FULL - 1, FULL, FULL + 1, 2 * FULL, 2 * FULL + 5])
def test_a_row_of_several_packets_is_one(roomy: Any, length: int) -> None:
    large = length - AROUND_IT - (5 if length > FULL + AROUND_IT else 0)  # from 2^24 on, a length is longer, too
    one, other = (f"SELECT seq, REPEAT('{letter}', {large}) FROM seq_1_to_2 UNION SELECT 3, ''" for letter in "xy")

    found = rows(roomy, one)

    assert len(found) == 3
    assert [row.count(b"x") for row in found] == [large, large, 0]
    assert not set(rows(roomy, other)[:2]) & set(found)


def verify(source: Any, target: Any, spark: Any, tmp_path: Any, **more: Any) -> VerificationResult:
    meta = f"sqlite:///{tmp_path}/meta.db"
    options = {"strategy": Strategy.PULL, "recheck_times": 0, **more}
    return api.verify(source.url, target.url, spark=spark, meta=meta, **options)


def as_sent(result: VerificationResult) -> bool:
    return any("hashed as sent" in reason for reason in result.tables[0].explanation.reasons)


def test_tables_of_the_same_types_are_compared_as_sent(
    mysql_db: Any, mysql_db_b: Any, spark: Any, tmp_path: Any
) -> None:
    for database in (mysql_db, mysql_db_b):
        with database.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            cursor.execute(TABLE)
            cursor.execute(ROWS)
            connection.commit()
    equal = verify(mysql_db, mysql_db_b, spark, tmp_path)
    assert as_sent(equal)
    assert equal.verdict is Verdict.EQUAL
    assert (equal.tables[0].rows.source, equal.tables[0].rows.target) == (3, 3)

    mysql_db_b.execute("UPDATE t SET bits = b'101010100' WHERE id > 2")
    different = verify(mysql_db, mysql_db_b, spark, tmp_path)
    assert as_sent(different)
    assert [list(difference.columns) for difference in different.differences] == [["bits"]]


def test_other_bytes_of_the_same_value_are_no_difference(
    mysql_db: Any, mysql_db_b: Any, spark: Any, tmp_path: Any
) -> None:
    for database, text in ((mysql_db, '{"a": 1, "b": 2}'), (mysql_db_b, '{"b":2,"a":1.0}')):
        database.execute("CREATE TABLE t (id INT PRIMARY KEY, j JSON)")
        database.execute("INSERT INTO t VALUES (1, %s)", text)
    result = verify(mysql_db, mysql_db_b, spark, tmp_path)
    assert as_sent(result)
    assert result.verdict is Verdict.EQUAL


@pytest.mark.parametrize(
    ("declared", "request_for"),
    [
        ("VARCHAR(30)", {}),
        ("VARCHAR(20) CHARACTER SET latin1", {}),
        ("VARCHAR(20)", {"expressions": {"v": ("", "CONCAT(v)")}}),
    ],
    ids=["type", "character set", "expression"],
)
def test_what_is_not_the_same_on_both_sides_is_decoded(
    mysql_db: Any, mysql_db_b: Any, spark: Any, tmp_path: Any, declared: str, request_for: dict[str, Any]
) -> None:
    for database, kind in ((mysql_db, "VARCHAR(20)"), (mysql_db_b, declared)):
        database.execute(f"CREATE TABLE t (id INT PRIMARY KEY, v {kind})")
        database.execute("INSERT INTO t VALUES (1, 'é')")
    result = verify(mysql_db, mysql_db_b, spark, tmp_path, tables=[TableRequest("t", **request_for)])
    assert not as_sent(result)
    assert result.verdict is Verdict.EQUAL
