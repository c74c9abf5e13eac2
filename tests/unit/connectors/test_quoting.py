"""Names and texts of any content: what is put into a statement stays in its quotes."""

from __future__ import annotations

import pytest

from tieout.connectors.mysql import quoting as mysql
from tieout.connectors.mysql.show_create import keys_of, parts_of
from tieout.connectors.mysql.types import logical_type
from tieout.connectors.postgres import quoting as postgres
from tieout.connectors.sql.ddl import TABLE, as_text, spelled
from tieout.connectors.sql.placeholders import with_names, with_question_marks
from tieout.connectors.sqlite import quoting as sqlite
from tieout.errors import UnsupportedError
from tieout.model.tables import TableName

HOSTILE = """$tieout$||null,''),1);CREATE TABLE "x" (a int);-- `\\' %s"""


class _Session:
    quote, table, text = staticmethod(postgres.name), staticmethod(postgres.table), staticmethod(postgres.text)


def test_a_name_stays_in_its_quotes() -> None:
    assert postgres.name('a"b') == sqlite.name('a"b') == '"a""b"'
    assert mysql.name("a`b\\") == "`a``b\\`"
    assert postgres.table(TableName('a"', "b.c")) == '"a"""."b.c"'


@pytest.mark.parametrize("engine", [postgres, mysql, sqlite])
def test_no_name_ends_a_statement(engine: object) -> None:
    with pytest.raises(UnsupportedError, match="NUL"):
        engine.name("a\0b")  # type: ignore[attr-defined]


def test_a_text_of_mysql_means_the_same_in_every_mode() -> None:
    assert mysql.text("plain, 50") == "'plain, 50'"
    assert mysql.text("'\\") == "_utf8mb4 X'275c'"
    assert mysql.backslashed("it's \\ \0") == "'it''s \\\\ \\0'"
    with pytest.raises(UnsupportedError):
        mysql.coded_text("00", "utf8mb4 X'00' OR 1")
    assert mysql.account("o'ne@ex@%") == "'o''ne@ex'@'%'"


def test_a_text_of_sqlite_is_of_one_line() -> None:
    assert sqlite.text("it's") == "'it''s'"
    assert sqlite.text("a\nb") == "CAST(X'610a62' AS TEXT)"


def test_the_name_of_a_table_inside_of_a_text() -> None:
    session, hostile = _Session(), TableName("s", HOSTILE)
    statement = spelled(session, f"SELECT setval({as_text(f'{TABLE}.x')}, 1)", hostile)  # type: ignore[arg-type]
    assert statement == f"SELECT setval({postgres.text(postgres.table(hostile) + '.x')}, 1)"
    assert "$tieout$||null,'''')" in statement  # its quote is doubled: it ends nothing


def test_a_percent_sign_in_a_name_is_no_placeholder() -> None:
    statement = """SELECT "50%s ""x%" FROM `a%(b)s` WHERE c = %s AND d LIKE '%%"%%' AND e = 'it''s %%'"""
    assert with_names(statement) % ("7",) == (
        """SELECT "50%s ""x%" FROM `a%(b)s` WHERE c = 7 AND d LIKE '%"%' AND e = 'it''s %'"""
    )
    assert with_question_marks("SELECT \"%s\" FROM t WHERE a = %s AND b = '%s'") == (
        "SELECT \"%s\" FROM t WHERE a = ? AND b = '%s'"
    )


def test_a_table_is_taken_apart_whatever_its_names_say() -> None:
    shown = "CREATE TABLE `t (\n` (\n  `a),\n) ENGINE=X` int,\n  `b` enum(')','\\'','''') DEFAULT ')',\n" + (
        "  KEY `k,\n``` (`a),\n) ENGINE=X`),\n  PRIMARY KEY (`b`(3))\n) ENGINE=InnoDB COMMENT='('"
    )
    parts, tail = parts_of(shown)
    assert parts == [
        "`a),\n) ENGINE=X` int",
        "`b` enum(')','\\'','''') DEFAULT ')'",
        "KEY `k,\n``` (`a),\n) ENGINE=X`)",
        "PRIMARY KEY (`b`(3))",
    ]
    assert tail == ") ENGINE=InnoDB COMMENT='('"
    assert keys_of(parts) == {"k,\n`": parts[2], "PRIMARY": parts[3]}


def test_a_name_that_people_may_paste() -> None:
    assert postgres.shown(TableName("public", "orders_1")) == "public.orders_1"
    assert postgres.shown(TableName("public", "a; DROP TABLE b")) == 'public."a; DROP TABLE b"'
    assert postgres.shown(TableName("Public", "1a")) == '"Public"."1a"'


def test_labels_as_a_mysql_server_writes_them() -> None:
    full = r"""enum('a\\b','it''s','x\ny','','c,d','\\')"""
    found = logical_type("enum", full, None, None, None, is_json=False)
    assert found.values == ("a\\b", "it's", "x\ny", "", "c,d", "\\")
