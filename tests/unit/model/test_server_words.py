"""What servers say, while values are hidden: a code, and beginnings that are known."""

from __future__ import annotations

from threading import Thread

import pytest

from tieout.errors import ReadError
from tieout.model.redaction import values_hidden
from tieout.model.server_words import are_hidden, hidden, told, told_of

SECRET = "4929 1234"


@pytest.mark.parametrize(
    "text",
    [
        f"syntaxe en entrée invalide pour le type integer : « {SECRET} »",
        f"ungültige Eingabesyntax für Typ integer: „{SECRET}“",
        f"bad ssn {SECRET} here",
        f"{SECRET} cannot be represented as Decimal(5, 2)",
        f'relation "{SECRET}" does not exist',
        f"[{SECRET}] is what it is called",
        SECRET,
    ],
)
def test_what_is_not_known_is_not_told(text: str) -> None:
    with hidden():
        assert told(text) == "(the message is redacted)"
        assert told(text, "P0001") == "[P0001] (the message is redacted)"
    assert told(text, "P0001") == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f'invalid input syntax for type integer: "{SECRET}"', "[1] invalid input syntax for type integer: ***"),
        (f"Duplicate entry '{SECRET}' for key 'orders.card'", "[1] Duplicate entry ***"),
        (f"division by zero {SECRET}", "[1] division by zero ***"),
        ("division by zero", "[1] division by zero"),
        (f"invalid input syntax for type {SECRET}", "[1] (the message is redacted)"),
    ],
)
def test_known_beginnings_are_told_without_what_follows(text: str, shown: str) -> None:
    with hidden():
        assert told(text, 1) == shown


def test_an_exception_has_its_name() -> None:
    with hidden():
        assert told_of(ValueError(SECRET)) == "[ValueError] (the message is redacted)"


def test_threads_of_a_job_hide_too_and_two_jobs_end_one_by_one() -> None:
    seen: list[bool] = []
    with values_hidden(False):
        assert not are_hidden()
    with values_hidden(True):
        with values_hidden(True), values_hidden(False):
            thread = Thread(target=lambda: seen.append(are_hidden()))
            thread.start()
            thread.join()
        assert are_hidden()
    assert not are_hidden()
    assert seen == [True]


def test_it_ends_with_an_error_too() -> None:
    with pytest.raises(ReadError), values_hidden(True):
        raise ReadError("gone")
    assert not are_hidden()


def test_a_crash_tells_where_and_not_what() -> None:
    with pytest.raises(RuntimeError) as caught, values_hidden(True):
        int(SECRET)
    assert str(caught.value) == "ValueError (its message is redacted)"
    assert caught.value.__suppress_context__
    with pytest.raises(ValueError, match=SECRET), values_hidden(False):
        int(SECRET)
