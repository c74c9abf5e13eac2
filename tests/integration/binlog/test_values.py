"""Every type of column, with the values at its edges: as a SELECT shows them, and as mysql-replication reads them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.binlog.following import Followed
from tests.integration.binlog.theirs import LACKING, agree
from tests.integration.binlog.values import ALL, Case


def name(case: Case) -> str:
    return case.type[:50]


@pytest.mark.parametrize("case", ALL, ids=name)
def test_a_value_is_what_the_server_shows(case: Case, written: Any) -> None:
    null, *ours = written.ours[case]
    shown = written.shown[case][1:]
    assert null is None
    assert [case.seen(value) for value in ours] == ([str(value) for value in shown] if case.seen is str else shown)


@pytest.mark.parametrize("case", [case for case in ALL if not any(map(case.type.__contains__, LACKING))], ids=name)
def test_a_value_is_what_the_library_reads(case: Case, written: Any) -> None:
    pairs = list(zip(written.ours[case], written.theirs[case], strict=True))
    assert [pair for pair in pairs if not agree(*pair)] == []


def test_what_the_log_tells_of_some_columns_is_told_of_the_right_ones(mysql_db: Any) -> None:
    """Signs of numbers, collations of text and labels are told without saying of which columns."""
    columns = {
        "y YEAR": 2024,
        "a TINYINT UNSIGNED": 255,
        "b BIT(3)": "101",
        "c SMALLINT": -1,
        "p POINT": None,
        "d DECIMAL(3,1) UNSIGNED": "99.9",
        "e ENUM('€', 'x') CHARACTER SET latin1": "€",
        "f FLOAT": -0.5,
        "g VARCHAR(5) CHARACTER SET latin1": "€",
        "h SMALLINT UNSIGNED": 65535,
        "i BLOB": b"\xe2\x82\xac",
        "j SET('ñ', 'x')": "ñ",
        "k VARCHAR(5) CHARACTER SET utf8mb4": "€",
        "l INET6": bytes(16),
        "m TEXT CHARACTER SET utf16": "€",
        "n ENUM('q', 'ñ') CHARACTER SET utf8mb4": "ñ",
        "o BIGINT UNSIGNED": 2**64 - 1,
        "q VARBINARY(3)": b"\xff",
        "r CHAR(3) CHARACTER SET cp1251": "Ж",
    }
    values = [value for column, value in columns.items() if column not in ("b BIT(3)", "p POINT", "l INET6")]
    names = [column.split()[0] for column in columns if column not in ("b BIT(3)", "p POINT", "l INET6")]
    followed = Followed(mysql_db)
    mysql_db.execute(f"CREATE TABLE t ({', '.join(columns)})")
    with mysql_db.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO t (b, l, {', '.join(names)}) VALUES (b'101', '::', {', '.join(['%s'] * len(names))})", values
        )
    assert followed.changes("t") == [("INSERT", None, tuple(columns.values()))]
