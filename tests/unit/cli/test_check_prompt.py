"""`tieout check URL` at a terminal: statement after statement."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import pytest

from tests.unit.cli.conftest import Ended
from tieout.cli import check
from tieout.errors import MissingObjectError

Type = Callable[[Sequence[str]], tuple[list[str], Ended]]


@pytest.fixture
def typed(tieout: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> Type:
    """Lines, and then the end of input: the statements that were run, and how it ended."""

    def run(lines: Sequence[str]) -> tuple[list[str], Ended]:
        left, statements = list(lines), []

        def answer(_: str) -> str:
            if not left:
                raise EOFError
            return left.pop(0)

        def check_it(_: object, statement: str) -> int:
            statements.append(statement)
            if "nosuch" in statement:
                raise MissingObjectError("there is no table nosuch")
            return 1 if "broken" in statement else 0

        monkeypatch.setattr("builtins.input", answer)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        monkeypatch.setattr(check._Session, "run", check_it)
        return statements, tieout("check", "sqlite:///shop.db")

    return run


def test_an_error_ends_a_statement_and_not_the_prompt(typed: Type) -> None:
    run, ended = typed(["CHECK TABLE nosuch;", "CHECK TABEL t;", "CHECK TABLE", "broken;"])
    assert run == ["CHECK TABLE nosuch", "CHECK TABLE\nbroken"]
    assert ended.code == 1
    assert "error[missing-object]: there is no table nosuch\n" in ended.err
    assert "error[statement]: " in ended.err


def test_what_is_typed_without_a_semicolon_is_run_at_the_end_of_input(typed: Type) -> None:
    run, ended = typed(["CHECK TABLE t;", "CHECK TABLE broken"])
    assert run == ["CHECK TABLE t", "CHECK TABLE broken"]
    assert ended.code == 1


def test_what_is_left_by_quit_is_said_to_be(typed: Type) -> None:
    run, ended = typed(["CHECK TABLE t", "quit"])
    assert (run, ended.code) == ([], 0)
    assert "was not run" in ended.err


@pytest.mark.parametrize(
    ("tables", "code"),
    [(("good", "good"), 0), (("good", "unread"), 3), (("unread", "broken", "good"), 1), (("good", "broken"), 1)],
)
def test_the_worst_of_several_statements_is_the_exit_code(
    tieout: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tables: Sequence[str], code: int
) -> None:
    codes = {"good": 0, "broken": 1, "unread": 3}
    monkeypatch.setattr(check._Session, "run", lambda _, statement: codes[statement.split()[-1]])
    statements = "; ".join(f"CHECK TABLE {table}" for table in tables)
    assert tieout("check", "sqlite:///shop.db", statements).code == code
