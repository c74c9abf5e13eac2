"""What a statement's text in a log means, and what it is about."""

from __future__ import annotations

import pytest

from tieout.connectors.mysql.binlog.codes import EXECUTE_LOAD, QUERY
from tieout.connectors.mysql.binlog.statements import Meaning, Query, meaning, query_of, truncated
from tieout.connectors.mysql.binlog.tables import Wanted
from tieout.model.tables import TableName


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BEGIN", Meaning.BEGIN),
        ("START TRANSACTION", Meaning.BEGIN),
        ("COMMIT", Meaning.COMMIT),
        ("ROLLBACK", Meaning.ROLLBACK),
        ("ROLLBACK TO `to`", Meaning.ROLLBACK_TO),
        ("ROLLBACK WORK TO SAVEPOINT a", Meaning.ROLLBACK_TO),
        ("SAVEPOINT `a`", Meaning.SAVEPOINT),
        ("RELEASE SAVEPOINT a", Meaning.RELEASE),
        ("XA COMMIT X'78',X'',1", Meaning.XA_COMMIT),
        ("XA END X'78',X'',1", Meaning.XA),
        ("truncate t", Meaning.TRUNCATE),
        ("/* a */ -- b\n # c\n insert into t values (1)", Meaning.ROWS),
        ("/*!50000 INSERT */ INTO t VALUES (1)", Meaning.ROWS),
        ("/*M!100100 REPLACE */ INTO t VALUES (1)", Meaning.ROWS),
        ("(SELECT f())", Meaning.ROWS),
        ("WITH x AS (SELECT 1) DELETE FROM t", Meaning.ROWS),
        ("/*!40000 ALTER TABLE `t` DISABLE KEYS */", Meaning.OTHER),
        ("CREATE TABLE begin (id INT)", Meaning.OTHER),
        ("ALTER TABLE t ADD COLUMN c INT", Meaning.OTHER),
        ("START SLAVE", Meaning.OTHER),
        ("SET STATEMENT max_statement_time = 9, x = 'a' FOR INSERT INTO t VALUES (1)", Meaning.ROWS),
        ("SET STATEMENT max_statement_time = 9 FOR ALTER TABLE t FORCE", Meaning.OTHER),
        ("SET DEFAULT ROLE r FOR u", Meaning.OTHER),
        ("ANALYZE FORMAT=JSON DELETE FROM t", Meaning.ROWS),
        ("ANALYZE TABLE t", Meaning.OTHER),
        ("", Meaning.OTHER),
        ("# Dummy event replacing event type 160 that slave cannot handle.", Meaning.OTHER),
        ("/* /* */ TRUNCATE t", Meaning.TRUNCATE),
        ("/*!50000 TRUNCATE */ t", Meaning.TRUNCATE),
        ("--\tINSERT\nTRUNCATE t", Meaning.TRUNCATE),
        ("--INSERT\nTRUNCATE t", Meaning.OTHER),
        ("SET STATEMENT x = ' FOR INSERT' FOR TRUNCATE t", Meaning.TRUNCATE),
        ("SET STATEMENT x = /* FOR INSERT */ (SELECT SUBSTR('a' FROM 1 FOR 2)) FOR TRUNCATE t", Meaning.TRUNCATE),
        ("SET STATEMENT sql_mode = 'ANSI' FOR INSERT INTO t VALUES (\"x\")", Meaning.ROWS),
        ("BEGIN; TRUNCATE t", Meaning.OTHER),
        ("COMMIT WORK AND NO CHAIN", Meaning.COMMIT),
        ("`BEGIN`", Meaning.OTHER),
        ("\u017fET STATEMENT x = 1 FOR INSERT INTO t VALUES (1)", Meaning.OTHER),
    ],
)
def test_meaning(text: str, expected: Meaning) -> None:
    assert meaning(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TRUNCATE t", (None, "t")),
        ("truncate table t", (None, "t")),
        ("TRUNCATE TABLE`t`", (None, "t")),
        ("TRUNCATE /* x */ TABLE /* y */ `a``b` . `c d` WAIT 5", ("a`b", "c d")),
        ('TRUNCATE "a"."b"', ("a", "b")),
        ("TRUNCATE größe", (None, "größe")),
        ("TRUNCATE tables", (None, "tables")),
        ("TRUNCATE ", None),
        ("TRUNCATE -- u\n t", (None, "t")),
        ("TRUNCATE TABLE # u\n t", (None, "t")),
        ("TRUNCATE TABLE -- `u` /*\n t -- */", (None, "t")),
        ("-- TRUNCATE u\nTRUNCATE t", (None, "t")),
        ("/* TRUNCATE u */ # TRUNCATE u\nTRUNCATE t", (None, "t")),
        ("TRUNCATE/**/TABLE/*/ u */t", (None, "t")),
        ("TRUNCATE /*!50000 TABLE */ /*M!100100 t */", (None, "t")),
        ("TRUNCATE /*! /* u */ TABLE */ t", (None, "t")),
        ("TRUNCATE /*! /*!50000 TABLE */ t", (None, "t")),
        ("TRUNCATE /* 99999 a (* b *) u */ t", (None, "t")),
        ("SET STATEMENT max_statement_time = 9 FOR TRUNCATE u.t", ("u", "t")),
        ("TRUNCATE .t", (None, "t")),
        ("TRUNCATE shop.2024", ("shop", "2024")),
        ("TRUNCATE shop -- .u\n.-- .u\n t", ("shop", "t")),
        ("TRUNCATE [a]]b]", (None, "a]b")),
        ("TRUNCATE `-- t`", (None, "-- t")),
        ("TRUNCATE t;", (None, "t")),
        ("TRUNCATE t NOWAIT", (None, "t")),
        ("TRUNCATE t REUSE STORAGE -- u", (None, "t")),
        # What no server takes is not taken for what it may have been.
        ("TRUNCATE t u", None),
        ("TRUNCATE t, u", None),
        ("TRUNCATE a.b.c", None),
        ("TRUNCATE t; TRUNCATE u", None),
        ("TRUNCATE --u\n t", None),
        ("TRUNCATE /* 99999 a /* b */ u */ t", None),
        ("TRUNCATE `t", None),
        ("TRUNCATE t /* no end", None),
        ("TRUNCATE /*! t", None),
        ("TRUNCATE\u00a0t", None),
        ("TRUNCATE t # a\0b\n", None),
        ("SET STATEMENT sql_mode = '' FOR TRUNCATE \"t\"", None),
        ("SET STATEMENT max_statement_time = 9", None),
    ],
)
def test_what_is_truncated(text: str, expected: tuple[str | None, str] | None) -> None:
    assert truncated(text) == expected


def query(schema: str, text: str) -> Query:
    return Query(schema, text.encode(), 45)


def test_a_statement_concerns_tables_of_its_schema_and_of_those_it_names() -> None:
    wanted = Wanted(frozenset({TableName("shop", "orders")}), folded=False)
    assert wanted.concerns(query("shop", "INSERT INTO other VALUES (1)"))
    assert wanted.concerns(query("elsewhere", "INSERT INTO `SHOP`.orders VALUES (1)"))
    assert not wanted.concerns(query("percona", "REPLACE INTO heartbeat VALUES (1)"))
    odd = Wanted(frozenset({TableName("it`s", "orders"), TableName("größe", "t")}), folded=False)
    assert odd.concerns(query("elsewhere", "INSERT INTO `IT``S`.orders VALUES (1)"))
    assert odd.concerns(Query("elsewhere", "INSERT INTO größe.t VALUES (1)".encode("latin1"), 8))
    assert not odd.concerns(query("elsewhere", "INSERT INTO `it`.s VALUES (1)"))


def test_names_in_any_case_where_the_server_takes_them_so() -> None:
    orders = TableName("shop", "orders")
    assert Wanted(frozenset({orders}), folded=True).named(TableName("Shop", "ORDERS")) == orders
    assert Wanted(frozenset({orders}), folded=False).named(TableName("Shop", "ORDERS")) is None


def body(kind: int, variables: bytes, text: bytes) -> bytes:
    head = bytes(4) + bytes(4) + bytes([4]) + bytes(2) + len(variables).to_bytes(2, "little")
    return head + (bytes(13) if kind == EXECUTE_LOAD else b"") + variables + b"shop\0" + text


@pytest.mark.parametrize("kind", [QUERY, EXECUTE_LOAD])
def test_a_text_lies_behind_variables_that_tell_its_character_set(kind: int) -> None:
    flags, mode, catalog, increment = b"\0" + bytes(4), b"\1" + bytes(8), b"\6\3std", b"\3" + bytes(4)
    variables = flags + mode + catalog + increment + b"\4" + (8).to_bytes(2, "little") + bytes(4) + b"\x05\3UTC"
    found = query_of(kind, body(kind, variables, "größe".encode("latin1")))
    assert found == Query("shop", "größe".encode("latin1"), 8)


def test_a_text_whose_character_set_is_not_told() -> None:
    assert query_of(QUERY, body(QUERY, b"\0" + bytes(4) + b"\x63???", b"x")).collation == 0
