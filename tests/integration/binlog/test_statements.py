"""Statements as clients really write them, in the log of a real server: the table that it emptied, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.binlog.following import Followed
from tieout.model.row_changes import Emptied, LogItem, Statement

TABLES = ("t", "u", "it`s", "größe", "2024")


@pytest.fixture
def followed(mysql_db: Any) -> Followed:
    for name in TABLES:
        mysql_db.execute(f"CREATE TABLE `{name.replace('`', '``')}` (id INT NOT NULL)")
    return Followed(mysql_db)


def emptied(followed: Followed, cursor: Any) -> list[str]:
    """The tables that hold nothing any more; all hold a row again."""
    found = []
    cursor.execute("SET SESSION sql_log_bin = OFF")
    for name in TABLES:
        if cursor.execute(f"SELECT id FROM `{name.replace('`', '``')}`") == 0:
            found.append(name)
            cursor.execute(f"INSERT INTO `{name.replace('`', '``')}` VALUES (1)")
    cursor.execute("SET SESSION sql_log_bin = ON")
    return found


def told(items: list[LogItem]) -> tuple[list[str], set[str]]:
    """What was emptied, and which tables can't be followed any more."""
    stopped = {change.table.name for item in items if isinstance(item, Statement) for change in item.redefined}
    return [item.table.name for item in items if isinstance(item, Emptied)], stopped


UNDERSTOOD = [
    "TRUNCATE -- u\n t",
    "TRUNCATE # TABLE u\n TABLE t",
    "TRUNCATE TABLE # u\n t -- `it``s`",
    "-- TRUNCATE u\nTRUNCATE t",
    "truncate--\t`u`\n/* u */table/**/`t`--",
    "TRUNCATE /*!50000 TABLE */ t",
    "TRUNCATE /*M!100100 TABLE t */",
    "TRUNCATE /*!99999 u /* it's */ u */ t",
    "TRUNCATE /*! /* u */ TABLE */ t",
    "TRUNCATE /*! /*!50000 TABLE */ t",
    "TRUNCATE {schema}-- .u\n.# u\n t",
    "TRUNCATE .t",
    "TRUNCATE {schema}.2024",
    "TRUNCATE `it``s` WAIT 5",
    "TRUNCATE größe -- größer",
    "SET STATEMENT max_statement_time = 9 /* FOR TRUNCATE u */ FOR TRUNCATE t",
    "EXECUTE IMMEDIATE 'TRUNCATE # u\n t'",
    "BEGIN NOT ATOMIC TRUNCATE -- u\n t; END",
]


def test_a_table_is_emptied_whatever_comments_say(followed: Followed) -> None:
    with followed.database.connect() as connection, connection.cursor() as cursor:
        emptied(followed, cursor)
        followed.start()
        gone = []
        for statement in UNDERSTOOD:
            cursor.execute(statement.format(schema=followed.database.name))
            gone += emptied(followed, cursor)
    assert len(gone) == len(UNDERSTOOD)
    assert told(followed.items(*TABLES)) == (gone, set())


@pytest.mark.parametrize(
    ("sql_mode", "statement"),
    [
        ("ANSI_QUOTES", 'TRUNCATE "t" -- "u"'),
        ("ANSI_QUOTES,NO_BACKSLASH_ESCAPES", 'TRUNCATE /* \\*/ "t" # \\'),
        ("MSSQL", "TRUNCATE [t] -- [u]"),
        ("ORACLE", 'TRUNCATE TABLE "t" REUSE STORAGE -- "u"'),
    ],
)
def test_names_in_the_quotes_of_the_session(followed: Followed, sql_mode: str, statement: str) -> None:
    with followed.database.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = %s", (sql_mode,))
        cursor.execute(statement)
    assert told(followed.items(*TABLES)) == (["t"], set())


def test_an_sql_mode_for_one_statement_is_not_the_one_it_was_read_with(followed: Followed) -> None:
    """The log says otherwise: what is in double quotes may be a name or a text."""
    with followed.database.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = 'ANSI_QUOTES'")
        cursor.execute("SET STATEMENT sql_mode = '' FOR TRUNCATE \"größe\"")
        cursor.execute("SET STATEMENT sql_mode = '' FOR TRUNCATE `2024`")
    assert told(followed.items(*TABLES)) == (["2024"], {"größe"})


def test_statements_of_other_character_sets(followed: Followed) -> None:
    """Where a quote may be half of a character."""
    with followed.database.connect() as connection, connection.cursor() as cursor:
        connection.set_character_set("cp932")
        cursor.execute("TRUNCATE /* 表` */ t")
        cursor.execute("ALTER TABLE u COMMENT '表'")
        connection.set_character_set("utf8mb4")
        connection.query(b"TRUNCATE /* \xff\xfe */ t")
        connection.query(b"ALTER TABLE u COMMENT 'a' /* \xff t */")
    items = followed.items(*TABLES)
    assert told(items)[0] == ["t", "t"]
    changes = [change for item in items if isinstance(item, Statement) for change in item.redefined]
    assert [(change.table.name, change.reason) for change in changes] == [("u", None)] * 2


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE OR REPLACE SEQUENCE t", "created again"),
        ("ALTER IGNORE TABLE t ADD UNIQUE (id)", "IGNORE"),
        ("ALTER TABLE t -- RENAME TO x\n WITH SYSTEM VERSIONING", "SYSTEM"),
        ("RENAME TABLE # u\n t -- u\n TO x", "renamed"),
        ("DROP TABLE -- u\n t", "dropped"),
    ],
)
def test_what_rows_in_the_log_do_not_tell(followed: Followed, statement: str, reason: str) -> None:
    followed.database.execute(statement)
    (change,) = (change for item in followed.items(*TABLES) for change in getattr(item, "redefined", ()))
    assert change.table.name == "t"
    assert reason in (change.reason or "")


def test_a_temporary_table_with_the_name_of_one_that_is_followed(followed: Followed) -> None:
    """Sessions that log statements log what they do to it, as if it were the other one."""
    with followed.database.connect() as connection, connection.cursor() as cursor:
        emptied(followed, cursor)
        followed.start()
        cursor.execute("SET SESSION binlog_format = MIXED")
        cursor.execute("CREATE TEMPORARY TABLE t (id INT)")
        cursor.execute("TRUNCATE t")
    first, *_ = (item for item in followed.items(*TABLES) if isinstance(item, Statement | Emptied))
    assert told([first]) == ([], {"t"}), "it is stopped before it could be emptied"


def test_savepoints_whose_names_differ_in_case_and_accents(followed: Followed) -> None:
    followed.database.execute("CREATE TABLE w (id INT PRIMARY KEY)")
    followed.start()
    with followed.database.connect() as connection, connection.cursor() as cursor:
        for statement in (
            *("BEGIN", "CREATE TEMPORARY TABLE x (id INT)", "INSERT INTO w VALUES (1)", "SAVEPOINT é"),
            *("INSERT INTO w VALUES (2)", "SAVEPOINT `to a``b`", "INSERT INTO w VALUES (3)", "ROLLBACK TO `TO A``B`"),
            *("ROLLBACK TO SAVEPOINT E", "INSERT INTO w VALUES (4)", "COMMIT"),
        ):
            cursor.execute(statement)
    rows = set[int]()
    for kind, _, (number,) in followed.changes("w"):
        rows = rows | {number} if kind == "INSERT" else rows - {number}
    assert sorted(rows) == [number for (number,) in followed.database.rows("SELECT id FROM w ORDER BY id")] == [1, 4]
