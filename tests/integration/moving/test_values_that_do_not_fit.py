"""A value that the target can't hold stops a mover, in one line that says where: nothing is cut or changed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.pieces import pieces
from tests.integration.moving.troubles import without_files
from tests.variants import later
from tieout.errors import ReadError, WriteError


@dataclass(frozen=True)
class Unfit:
    """A column of the source, the one of the target (None: made by the mover), and a value as SQL.

    `alike`: it is like another one, and left to make test-faults.
    """

    pair: str
    column: str
    there: str | None
    value: str
    alike: bool = False

    def __str__(self) -> str:
        return f"{self.pair}-{self.value}-{self.there or 'made'}"


CASES = [
    Unfit("mariadb-postgres", "DATE", None, "'0000-00-00'"),
    Unfit("mariadb-postgres", "TIMESTAMP NULL", None, "'0000-00-00 00:00:00'", alike=True),
    Unfit("mariadb-postgres", "VARCHAR(9)", None, "CONCAT('a', CHAR(0))"),
    Unfit("mariadb-postgres", "TIME", "time(0)", "'30:00:00'"),
    Unfit("mariadb-postgres", "TINYINT", "boolean", "2"),
    Unfit("mariadb-postgres", "VARCHAR(9)", "varchar(3)", "'abcd'", alike=True),
    Unfit("postgres-mariadb", "date", None, "'infinity'"),
    Unfit("postgres-mariadb", "date", None, "'0044-03-15 BC'", alike=True),
    Unfit("postgres-mariadb", "timestamp", None, "'10000-01-01 00:00:00'", alike=True),
    Unfit("postgres-mariadb", "double precision", None, "'NaN'"),
    Unfit("postgres-mariadb", "interval", "TIME(6)", "'1 day'", alike=True),
    Unfit("postgres-mariadb", "numeric", "DECIMAL(10,2)", "1.239"),
    Unfit("postgres-mariadb", "text", "VARCHAR(3)", "'abc  '"),
    Unfit("postgres-mariadb", "text", "VARCHAR(9) CHARACTER SET latin1", "'😀'"),
    Unfit("postgres-mariadb", "timestamptz", "TIMESTAMP(6) NULL", "'1960-01-01 00:00:00+00'"),
    Unfit("postgres-mariadb", "bigint", "INT", "2147483648"),
    Unfit("mariadb-mariadb", "BIGINT UNSIGNED", "BIGINT", "9223372036854775808", alike=True),
    Unfit("mariadb-postgres", "VARCHAR(9)", "varchar(3)", "'abc  '"),
    Unfit("postgres-postgres", "text", "varchar(3)", "'abc  '", alike=True),
    Unfit("postgres-postgres", "text", "varchar(3)", "'abcd'", alike=True),
]


@pytest.mark.parametrize(
    ("moving", "case"),
    [later(case.pair, case) if case.alike else (case.pair, case) for case in CASES],
    indirect=["moving"],
    ids=str,
)
def test_a_value_that_does_not_fit(moving: Moving, case: Unfit) -> None:
    _is_told_and_left_out(moving, case)


OF_MARIADB = [case for case in CASES if case.pair.endswith("-mariadb")]
SOON = {"1.239", "'abc  '", "2147483648", "9223372036854775808"}
"""Values that a server may cut without a word, and numbers that it may set to the nearest there is."""


@pytest.mark.parametrize(
    ("moving", "case"),
    [(case.pair, case) if case.value in SOON else later(case.pair, case) for case in OF_MARIADB],
    indirect=["moving"],
    ids=str,
)
def test_a_value_that_does_not_fit_where_no_files_are_taken(moving: Moving, case: Unfit) -> None:
    with without_files(moving.target):
        _is_told_and_left_out(moving, case)


def _is_told_and_left_out(moving: Moving, case: Unfit) -> None:
    """In a chunk, and in the log."""
    _create(moving, case)
    with pieces(moving.asking("unfit")) as one:
        moving.source.execute(f"INSERT INTO unfit VALUES (1, 1, NULL), (2, 2, {case.value})")
        with pytest.raises(WriteError) as caught:
            one.copy()
        _tells_where(caught.value.message)
        _tells_where(one.stage() or "")
        assert moving.target.rows("SELECT * FROM unfit") == []

        moving.source.execute("DELETE FROM unfit WHERE id = 2")
        assert one.stage() is None
        one.copy()
        assert moving.target.rows("SELECT * FROM unfit") == [(1, 1, None)]


@pytest.mark.parametrize(
    ("moving", "case"), [(case.pair, case) for case in (CASES[0], CASES[-1])], indirect=["moving"], ids=str
)
def test_a_mover_stops_and_goes_on_when_the_value_is_gone(moving: Moving, case: Unfit) -> None:
    _create(moving, case)
    moving.source.execute(f"INSERT INTO unfit VALUES (1, 1, NULL), (2, 2, {case.value})")
    asked = moving.asking("unfit")
    with pytest.raises(WriteError) as caught:
        asked.run()
    _tells_where(caught.value.message)

    moving.source.execute("DELETE FROM unfit WHERE id = 2")
    asked.run()
    assert moving.target.rows("SELECT * FROM unfit") == [(1, 1, None)]


def _create(moving: Moving, case: Unfit) -> None:
    moving.source.execute(f"CREATE TABLE unfit (id INT PRIMARY KEY, fine INT, odd {case.column})")
    if case.there:
        moving.target.execute(f"CREATE TABLE unfit (id INT PRIMARY KEY, fine INT, odd {case.there})")


def _tells_where(message: str) -> None:
    assert "\n" not in message
    assert ".unfit: " in message
    assert "odd" in message


@pytest.mark.parametrize("moving", ["mariadb-mariadb"], indirect=True)
def test_a_text_that_has_no_form_in_unicode(moving: Moving) -> None:
    """The server would send a question mark in its place."""
    moving.source.execute("CREATE TABLE unfit (id INT PRIMARY KEY, fine INT, odd VARCHAR(9) CHARACTER SET sjis)")
    moving.source.execute("INSERT INTO unfit VALUES (1, 1, '表'), (2, 2, X'FC4B')")
    with pieces(moving.asking("unfit")) as one:
        with pytest.raises(ReadError, match=r"unfit\.odd: 1 texts are not valid sjis"):
            one.copy()
        moving.source.execute("DELETE FROM unfit WHERE id = 2")
        one.copy()
    assert moving.target.rows("SELECT * FROM unfit") == [(1, 1, "表")]
