"""What can't be told from a log is refused, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from uuid import UUID

import pytest

from tests.integration.binlog.following import Followed
from tests.log_items import only_told
from tieout.errors import UnsupportedError
from tieout.model.tables import TableName


@pytest.fixture
def followed(mysql_db: Any) -> Followed:
    mysql_db.execute("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, word VARCHAR(20))")
    return Followed(mysql_db)


def run(followed: Followed, *statements: str) -> None:
    with followed.database.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@contextmanager
def setting(followed: Followed, name: str, value: str) -> Iterator[None]:
    ((before,),) = followed.database.rows(f"SELECT @@GLOBAL.{name}")
    run(followed, f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        run(followed, f"SET GLOBAL {name} = {before}")


def test_columns_without_names(followed: Followed) -> None:
    with setting(followed, "binlog_row_metadata", "MINIMAL"):
        run(followed, "INSERT INTO t VALUES (1, 'a')")
    with pytest.raises(UnsupportedError, match="binlog_row_metadata"):
        followed.items("t")
    assert followed.items("others") == []


def test_statements_instead_of_rows(followed: Followed) -> None:
    run(followed, "SET SESSION binlog_format = STATEMENT", "INSERT INTO t VALUES (1, 'a')")
    with pytest.raises(UnsupportedError, match="binlog_format"):
        followed.items("t")
    elsewhere = frozenset({TableName("elsewhere", "t")})
    assert only_told(followed.log.read(followed.begin, followed.log.now(), elsewhere)) == []


def test_loaded_files_instead_of_rows(followed: Followed) -> None:
    file = followed.database.server.process.directory / f"{followed.database.name}.txt"
    run(
        followed,
        *("SET SESSION binlog_format = STATEMENT", f"SELECT 5, 'five' INTO OUTFILE '{file}'"),
        f"LOAD DATA INFILE '{file}' INTO TABLE t",
    )
    with pytest.raises(UnsupportedError, match="binlog_format"):
        followed.items("t")


def test_a_statement_from_another_schema(followed: Followed) -> None:
    name = followed.database.name
    run(followed, "USE mysql", "SET SESSION binlog_format = STATEMENT", f"INSERT INTO {name}.t VALUES (1, 'a')")
    with pytest.raises(UnsupportedError, match="binlog_format"):
        followed.items("t")


def test_old_times(followed: Followed) -> None:
    with setting(followed, "mysql56_temporal_format", "OFF"):
        run(
            followed,
            "SET SESSION sql_mode = '', time_zone = '+00:00'",
            "CREATE TABLE old (a DATETIME, b TIME, c TIMESTAMP NULL)",
            """INSERT INTO old VALUES ('2024-02-29 12:34:56', '-838:59:59', '2001-09-09 01:46:40'),
                ('0000-00-00', '00:00:01', '0000-00-00'),
                ('2024-00-00 01:02:03', '100:00:00', '2038-01-19 03:14:07')""",
            "CREATE TABLE fine (a DATETIME(6))",
            "INSERT INTO fine VALUES ('2024-02-29 12:34:56.789012')",
        )
    assert [row for _, _, row in followed.changes("old")] == [
        ("2024-02-29 12:34:56", "-838:59:59", "2001-09-09 01:46:40"),
        ("0000-00-00 00:00:00", "00:00:01", "0000-00-00 00:00:00"),
        ("2024-00-00 01:02:03", "100:00:00", "2038-01-19 03:14:07"),
    ]
    with pytest.raises(UnsupportedError, match=r"column a .*mysql56_temporal_format"):
        followed.items("fine")


def test_the_log_does_not_tell_uuids_and_addresses_from_bytes(followed: Followed) -> None:
    uuids = (
        "00000000-0000-0000-0000-000000000000",
        "c232ab00-9414-11ec-b3c8-9f6bdeced846",
        "919108f7-52d1-4320-9bac-f847db4148a8",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "ffffffff-ffff-ffff-ffff-ffffffffff00",
    )
    rows = ", ".join(f"('{uuid}', '2001:db8::ff00', '192.0.2.0')" for uuid in uuids)
    run(followed, "CREATE TABLE b (u UUID, i INET6, j INET4)", f"INSERT INTO b VALUES {rows}")
    assert [row for _, _, row in followed.changes("b")] == [
        (UUID(uuid).bytes, ip_address("2001:db8::ff00").packed, ip_address("192.0.2.0").packed) for uuid in uuids
    ]
