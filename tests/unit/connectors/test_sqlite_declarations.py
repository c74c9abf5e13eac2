"""Constraints in the words of a CREATE TABLE."""

from __future__ import annotations

import pytest

from tieout.connectors.sqlite.check.catalog import Declared, declared_in

COLUMNS = ("id", "a", "b", "check")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("id INTEGER PRIMARY KEY, a, b", [Declared("PRIMARY", None, ("id",))]),
        ("id, a, PRIMARY KEY (id, a DESC)", [Declared("PRIMARY", None, ("id", "a"))]),
        ("a CHECK (a > 0 AND (b) < 1)", [Declared("CHECK", None, ("a", "b"), "a > 0 AND (b) < 1")]),
        ("a CONSTRAINT [of a] CHECK (A<')') NOT NULL", [Declared("CHECK", "of a", ("a",), "A<')'")]),
        ("a DEFAULT (1) CONSTRAINT once UNIQUE COLLATE nocase", [Declared("UNIQUE", "once", ("a",))]),
        ("a, b, CONSTRAINT x UNIQUE (a, `b`) CONSTRAINT y CHECK(a)", [
            Declared("UNIQUE", "x", ("a", "b")), Declared("CHECK", "y", ("a",), "a")]),
        ("a REFERENCES p (id) ON DELETE CASCADE", [Declared("REFERENCES", None, ("a",))]),
        ("a, b, CONSTRAINT f FOREIGN KEY (a, b) REFERENCES p", [Declared("REFERENCES", "f", ("a", "b"))]),
        ('"check" INT, a AS (b + 1) CHECK ("check" IS NOT NULL -- or else\n)', [
            Declared("CHECK", None, ("check",), '"check" IS NOT NULL ')]),
        ("a /* CHECK (a) */ DEFAULT 'CHECK (a)'", []),
    ],
)  # fmt: skip
def test_what_is_declared(body: str, found: list[Declared]) -> None:
    assert declared_in(f'CREATE TABLE "t (x" ({body}) STRICT', COLUMNS) == found


def test_a_virtual_table_declares_nothing() -> None:
    assert declared_in("CREATE VIRTUAL TABLE t USING fts5(a, check)", COLUMNS) == []
