"""Where a text is cut into words, under which rules, and the names in it."""

from __future__ import annotations

import pytest

from tieout.connectors.mysql.binlog.codes import QUERY
from tieout.connectors.mysql.binlog.ddl_tokens import (
    ANSI_QUOTES,
    NO_BACKSLASH_ESCAPES,
    NotCheckable,
    Rules,
    Word,
    words_in,
    words_of,
)
from tieout.connectors.mysql.binlog.statements import Meaning, meaning, query_of, savepoint, truncated, xid_of
from tieout.errors import ReadError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.5b.c", ["a", ".", "5b", ".", "c"]),
        ("1.5 .5 1e-3 2e3 7 1a", ["1.5", ".5", "1e-3", "2e3", "7", "1a"]),
        ("a-- b\n--c\n-", ["a", "-", "-", "c", "-"]),
        ("a*/*b*/c", ["a", "*", "c"]),
        ("x'41' B'01' n'z'", ["41", "01", "n", "z"]),
        ("@a:=b->'$.c'", ["@", "a", ":", "=", "b", "-", ">", "$.c"]),
        ("größe$_ ", ["größe$_"]),
        (r"""'it''s \'a\' \n\\\%' "a''b" """, ["it's 'a' \n\\\\%", "a''b"]),
        ("''''", ["'"]),
        ("```` ''", ["`", ""]),
        ("/*!50000a*/b/*!c*/d/*!1234 e*/", ["a", "b", "c", "d", "1234", "e"]),
        ("\t\v\f\r\n", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert [word.text for word in words_of(text)] == expected


@pytest.mark.parametrize(
    "text", ["'a", "`a``", '"', "/* a", "/*! a", "a */ b", "a\0", "a\u00a0b", "/*!a*/ */", r"'a\'"]
)
def test_what_can_not_be_cut(text: str) -> None:
    with pytest.raises(NotCheckable):
        words_of(text)


def test_of_a_long_text_only_the_words_that_are_taken_are_read() -> None:
    assert next(words_in("INSERT 'no end")) == Word("INSERT", "INSERT")
    assert meaning("INSERT 'no end") is Meaning.ROWS


def test_what_is_in_quotes_is_no_keyword() -> None:
    quoted = "`TABLE` 'TABLE' \"TABLE\" [TABLE]"
    assert [word.key for word in words_of(f"{quoted} table \u017fET")] == ["", "", "", "", "TABLE", "\u017fET"]


def test_double_quotes_and_backslashes_are_what_the_sql_mode_says() -> None:
    text = r"""TRUNCATE "a\"."b" # \" """
    assert truncated(text, Rules(ANSI_QUOTES)) == ("a\\", "b")
    assert truncated(text, Rules(0)) is None
    assert truncated(text, Rules(None)) is None
    settings = r"SET STATEMENT x = 'a\' FOR TRUNCATE u -- ' FOR TRUNCATE t"
    assert truncated(settings, Rules(NO_BACKSLASH_ESCAPES)) == (None, "u")
    assert truncated(settings, Rules(0)) == (None, "t")
    assert truncated(settings, Rules(None)) is None


def test_code_for_mariadb_is_a_comment_to_mysql() -> None:
    text = "TRUNCATE /*M! TABLE u -- */\n t"
    assert truncated(text, Rules(mariadb=False)) == (None, "t")
    assert truncated("DROP /*M! TEMPORARY */ TABLE t", Rules(mariadb=False)) is None
    assert truncated("TRUNCATE /*!50000 TABLE */ t", Rules(mariadb=False)) == (None, "t")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SAVEPOINT `a``b c`", "A`B C"),
        ("ROLLBACK TO `A``b C`", "A`B C"),
        ("ROLLBACK /* TO x */ WORK TO -- y\n SAVEPOINT a", "A"),
        ("SAVEPOINT é", "E"),
        ("ROLLBACK TO `E`", "E"),
        ("ROLLBACK TO `to savepoint x`", "TO SAVEPOINT X"),
        ("SAVEPOINT a b", None),
        ("ROLLBACK TO", None),
    ],
)
def test_savepoints_have_one_name_for_all_that_is_the_same_to_a_server(text: str, expected: str | None) -> None:
    assert savepoint(text) == expected


def test_the_name_of_an_xa_transaction() -> None:
    assert xid_of("XA COMMIT X'6162',X'63',7") == b"\7\0\0\0\2\1abc"
    assert xid_of("XA START X'61',X'',1") == b"\1\0\0\0\1\0a"
    assert xid_of("XA ROLLBACK 'a'") == b"\1\0\0\0\1\0a"
    with pytest.raises(ReadError, match="an unreadable name"):
        xid_of("XA COMMIT X'6',X'',1")


def test_xa_statements() -> None:
    verbs = {
        "START": Meaning.XA_START,
        "COMMIT": Meaning.XA_COMMIT,
        "ROLLBACK": Meaning.XA_ROLLBACK,
        "END": Meaning.XA,
    }
    assert {verb: meaning(f"XA {verb} X'78',X'',1") for verb in verbs} == verbs


@pytest.mark.parametrize("sql_mode", [None, 0, ANSI_QUOTES | NO_BACKSLASH_ESCAPES])
def test_a_text_comes_with_its_sql_mode(sql_mode: int | None) -> None:
    variables = b"\0" + bytes(4) + (b"" if sql_mode is None else b"\1" + sql_mode.to_bytes(8, "little"))
    head = bytes(8) + b"\4" + bytes(2) + len(variables).to_bytes(2, "little")
    assert query_of(QUERY, head + variables + b"shop\0TRUNCATE t").sql_mode == sql_mode
