"""Every form of a statement, and what is said of those that are none."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tieout.checks.language import parse_statement, split_statements
from tieout.errors import StatementError
from tieout.model.check_statements import EVERYTHING, CheckStatement, Family, Named
from tieout.report.printable import error_line

T, U = Named("t"), Named("u")
INDEX, CONSTRAINT = frozenset({Family.INDEX}), frozenset({Family.CONSTRAINT})
DATA = frozenset({Family.SCHEMA, Family.VALIDITY})

FORMS = {
    "CHECK TABLE t": {"tables": (T,)},
    "CHECK TABLE t, u": {"tables": (T, U)},
    "CHECK TABLE t INDEX i": {"tables": (T,), "families": INDEX, "indexes": ("i",)},
    "CHECK TABLE t INDEX i, j": {"tables": (T,), "families": INDEX, "indexes": ("i", "j")},
    "CHECK TABLE t CONSTRAINT c": {"tables": (T,), "families": CONSTRAINT, "constraints": ("c",)},
    "CHECK TABLE t CONSTRAINT c, d": {"tables": (T,), "families": CONSTRAINT, "constraints": ("c", "d")},
    "CHECK TABLE t VALIDITY": {"tables": (T,), "families": DATA},
    "CHECK TABLE t CHANGED": {"tables": (T,), "changed": True},
    "CHECK TABLE t INDEX i CHANGED": {"tables": (T,), "families": INDEX, "indexes": ("i",), "changed": True},
    "CHECK DATABASE d": {"database": "d"},
    "CHECK DATABASE d VALIDITY": {"database": "d", "families": DATA},
    "CHECK DATABASE d CHANGED": {"database": "d", "changed": True},
    "CHECK TABLE t AS OF '2026-11-16 12:00'": {"tables": (T,), "as_of": "2026-11-16 12:00"},
    "CHECK DATABASE d AS OF SYSTEM TIME '-10s'": {"database": "d", "as_of": "-10s"},
    "EXPERIMENTAL SCRUB TABLE t": {"tables": (T,)},
    "EXPERIMENTAL SCRUB TABLE t AS OF SYSTEM TIME '-1h'": {"tables": (T,), "as_of": "-1h"},
    "EXPERIMENTAL SCRUB DATABASE d": {"database": "d"},
    "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS INDEX ALL": {"tables": (T,), "families": INDEX},
    "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS INDEX (i, j)": {
        "tables": (T,),
        "families": INDEX,
        "indexes": ("i", "j"),
    },
    "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS CONSTRAINT ALL": {"tables": (T,), "families": CONSTRAINT},
    "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS CONSTRAINT (c)": {
        "tables": (T,),
        "families": CONSTRAINT,
        "constraints": ("c",),
    },
    "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS PHYSICAL": {"tables": (T,), "families": DATA},
    "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS PHYSICAL, INDEX (i), CONSTRAINT ALL": {
        "tables": (T,),
        "indexes": ("i",),
    },
    "INSPECT TABLE t": {"tables": (T,), "families": INDEX},
    "INSPECT DATABASE d": {"database": "d", "families": INDEX},
    "INSPECT TABLE t WITH OPTIONS INDEX ALL, DETACHED": {"tables": (T,), "families": INDEX, "detached": True},
    "INSPECT TABLE t AS OF SYSTEM TIME '-1h' WITH OPTIONS INDEX (i)": {
        "tables": (T,),
        "families": INDEX,
        "indexes": ("i",),
        "as_of": "-1h",
    },
    "INSPECT DATABASE d WITH OPTIONS DETACHED": {"database": "d", "families": INDEX, "detached": True},
}

MALFORMED = [
    ("", "expected CHECK, EXPERIMENTAL or INSPECT, not the end, at column 1"),
    ("CHEK TABLE t", 'expected CHECK, EXPERIMENTAL or INSPECT, not "CHEK", at column 1'),
    ("SELECT 1", 'expected CHECK, EXPERIMENTAL or INSPECT, not "SELECT", at column 1'),
    ("TABLE t", 'expected CHECK, EXPERIMENTAL or INSPECT, not "TABLE", at column 1'),
    ("CHECK", "expected DATABASE or TABLE, not the end, at column 6"),
    ("CHECK t", 'expected DATABASE or TABLE, not "t", at column 7'),
    ("CHECK TABEL t", 'expected DATABASE or TABLE, not "TABEL", at column 7'),
    ("CHECK TABLES t", 'expected DATABASE or TABLE, not "TABLES", at column 7'),
    ("CHECK TABLE", "expected a name, not the end, at column 12"),
    ("CHECK TABLE ;", 'expected a name, not ";", at column 13'),
    ("CHECK TABLE ,", 'expected a name, not ",", at column 13'),
    ("CHECK TABLE t,", "expected a name, not the end, at column 15"),
    (
        "CHECK TABLE t u",
        'expected AS, CHANGED, CONSTRAINT, INDEX, VALIDITY, ",", "." or the end, not "u", at column 15',
    ),
    (
        "CHECK TABLE t INDXE i",
        'expected AS, CHANGED, CONSTRAINT, INDEX, VALIDITY, ",", "." or the end, not "INDXE", at column 15',
    ),
    ("CHECK TABLE t INDEX", "expected a name, not the end, at column 20"),
    ("CHECK TABLE t INDEX i,", "expected a name, not the end, at column 23"),
    ("CHECK TABLE t INDEX (i)", 'expected a name, not "(", at column 21'),
    ("CHECK TABLE t INDEX i j", 'expected AS, CHANGED, "," or the end, not "j", at column 23'),
    ("CHECK TABLE t INDEX 'i'", "expected a name, not \"'i'\", at column 21"),
    ("CHECK TABLE t CONSTRAINT", "expected a name, not the end, at column 25"),
    ("CHECK TABLE t CONSTRAINT c INDEX i", 'expected AS, CHANGED, "," or the end, not "INDEX", at column 28'),
    (
        "CHECK TABLE t VALIDTY",
        'expected AS, CHANGED, CONSTRAINT, INDEX, VALIDITY, ",", "." or the end, not "VALIDTY", at column 15',
    ),
    ("CHECK TABLE t VALIDITY VALIDITY", 'expected AS, CHANGED or the end, not "VALIDITY", at column 24'),
    ("CHECK TABLE t CHANGED CHANGED", 'expected AS or the end, not "CHANGED", at column 23'),
    ("CHECK TABLE t AS", "expected OF, not the end, at column 17"),
    ("CHECK TABLE t AS OF", "expected SYSTEM or a moment in quotes, not the end, at column 20"),
    ("CHECK TABLE t AS OF yesterday", 'expected SYSTEM or a moment in quotes, not "yesterday", at column 21'),
    ("CHECK TABLE t AS OF SYSTEM '-10s'", "expected TIME, not \"'-10s'\", at column 28"),
    ("CHECK TABLE a.", "expected a name, not the end, at column 15"),
    ("CHECK TABLE .a", 'expected a name, not ".", at column 13'),
    ("CHECK TABLE a.b.c", 'expected AS, CHANGED, CONSTRAINT, INDEX, VALIDITY, "," or the end, not ".", at column 16'),
    ("CHECK TABLE 1t", 'expected a name, not "1", at column 13'),
    ('CHECK TABLE "t', 'expected a name, not "t, at column 13'),
    ('CHECK TABLE ""', 'expected a name, not "", at column 13'),
    (
        "CHECK TABLE t #",
        'expected AS, CHANGED, CONSTRAINT, INDEX, VALIDITY, ",", "." or the end, not "#", at column 15',
    ),
    ("CHECK TABLE t; CHECK TABLE u", 'expected the end, not "CHECK", at column 16'),
    ("CHECK DATABASE", "expected a name, not the end, at column 15"),
    ("CHECK DATABASE a, b", 'expected AS, CHANGED, VALIDITY or the end, not ",", at column 17'),
    ("CHECK DATABASE d INDEX i", 'expected AS, CHANGED, VALIDITY or the end, not "INDEX", at column 18'),
    ("CHECK DATABASE a.b", 'expected AS, CHANGED, VALIDITY or the end, not ".", at column 17'),
    ("SCRUB TABLE t", 'expected CHECK, EXPERIMENTAL or INSPECT, not "SCRUB", at column 1'),
    ("EXPERIMENTAL TABLE t", 'expected SCRUB, not "TABLE", at column 14'),
    ("EXPERIMENTAL SCRUB t", 'expected DATABASE or TABLE, not "t", at column 20'),
    ("EXPERIMENTAL SCRUB TABLE t, u", 'expected AS, WITH, "." or the end, not ",", at column 27'),
    ("EXPERIMENTAL SCRUB TABLE t WITH INDEX ALL", 'expected OPTIONS, not "INDEX", at column 33'),
    ("EXPERIMENTAL SCRUB TABLE t WITH OPTIONS", "expected CONSTRAINT, INDEX or PHYSICAL, not the end, at column 40"),
    ("EXPERIMENTAL SCRUB TABLE t WITH OPTIONS INDEX", 'expected ALL or "(", not the end, at column 46'),
    ("EXPERIMENTAL SCRUB TABLE t WITH OPTIONS INDEX ()", 'expected a name, not ")", at column 48'),
    ("EXPERIMENTAL SCRUB TABLE t WITH OPTIONS INDEX (a", 'expected ")" or ",", not the end, at column 49'),
    ("EXPERIMENTAL SCRUB TABLE t WITH OPTIONS INDEX ALL, INDEX (a)", "INDEX is given twice, at column 52"),
    (
        "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS INDEX ALL PHYSICAL",
        'expected "," or the end, not "PHYSICAL", at column 51',
    ),
    (
        "EXPERIMENTAL SCRUB TABLE t WITH OPTIONS DETACHED",
        'expected CONSTRAINT, INDEX or PHYSICAL, not "DETACHED", at column 41',
    ),
    ("EXPERIMENTAL SCRUB DATABASE d WITH OPTIONS PHYSICAL", 'expected AS or the end, not "WITH", at column 31'),
    ("INSPECT t", 'expected DATABASE or TABLE, not "t", at column 9'),
    ("INSPECT TABLE t WITH OPTIONS PHYSICAL", 'expected DETACHED or INDEX, not "PHYSICAL", at column 30'),
    ("INSPECT TABLE t WITH OPTIONS DETACHED, DETACHED", "DETACHED is given twice, at column 40"),
]


@pytest.mark.parametrize("text", FORMS)
def test_a_form(text: str) -> None:
    assert parse_statement(text) == CheckStatement(text, **FORMS[text])  # type: ignore[arg-type]
    assert parse_statement(f" {text.lower()} ;\n").text == text.lower()


def test_without_a_word_about_it_everything_is_asked_for() -> None:
    assert parse_statement("CHECK TABLE t").families == EVERYTHING == frozenset(Family)


@pytest.mark.parametrize(("text", "message"), MALFORMED)
def test_a_malformed_statement(text: str, message: str) -> None:
    with pytest.raises(StatementError) as error:
        parse_statement(text)
    assert error.value.message.splitlines()[0] == message


def test_names_as_engines_quote_them() -> None:
    found = parse_statement(
        'CHECK TABLE "Odd ""name""", `back``tick`, "my schema".index INDEX "a,b", table, Ünïcode_1$'
    )
    assert found.tables == (Named('Odd "name"'), Named("back`tick"), Named("index", "my schema"))
    assert found.indexes == ("a,b", "table", "Ünïcode_1$")


def test_a_name_twice_is_meant_once() -> None:
    assert parse_statement("CHECK TABLE t INDEX i, i").indexes == ("i",)


def test_comments_and_lines() -> None:
    assert parse_statement("CHECK -- all of it\n TABLE /* this\none */ t").tables == (T,)


def test_the_place_is_pointed_at() -> None:
    with pytest.raises(StatementError) as error:
        parse_statement("CHECK TABLE t\n  INDXE i")
    assert error_line(error.value).splitlines() == [
        'error[statement]: expected AS, CHANGED, CONSTRAINT, INDEX, VALIDITY, ",", "." or the end, not "INDXE", '
        "at line 2, column 3 — did you mean INDEX?",
        "    INDXE i",
        "    ^",
    ]


def test_statements_of_a_file() -> None:
    text = """CHECK TABLE a; -- not; here
    CHECK TABLE "b;c" INDEX i;

    /* nor; here */;
    INSPECT DATABASE d"""
    assert [parse_statement(each).tables for each in split_statements(text)] == [
        (Named("a"),),
        (Named("b;c"),),
        (),
    ]


@given(st.text(max_size=30))
def test_no_text_gets_another_error(text: str) -> None:
    for asked in (text, f"CHECK TABLE {text}", f"CHECK TABLE t INDEX {text}"):
        with suppress(StatementError):
            assert parse_statement(asked).text
