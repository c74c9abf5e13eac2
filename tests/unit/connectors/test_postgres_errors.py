"""PostgreSQL's table of errors: by the longest beginning of a SQLSTATE, or by words."""

from __future__ import annotations

import psycopg
import pytest

from tieout.config.urls import parse_url
from tieout.connectors.postgres.errors import OF_LOGS, OF_SLOTS, explain, meaning_of, translated
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.errors import (
    AccessError,
    BusyError,
    EndpointError,
    FullError,
    LogLostError,
    MissingObjectError,
    ReadError,
    UnreachableError,
)

URL = parse_url("postgresql://me@host:5432/shop")


def raised(state: str | None, text: str = "said") -> psycopg.Error:
    return type("Raised", (psycopg.Error,), {"sqlstate": state})(text)


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("53100", FullError),
        ("53300", UnreachableError),
        ("53999", ReadError),
        ("57014", ReadError),
        ("57P01", UnreachableError),
        ("08006", UnreachableError),
        ("28P01", AccessError),
        ("42501", AccessError),
        ("42P01", MissingObjectError),
        ("42601", ReadError),
        ("55P03", BusyError),
        (None, ReadError),
    ],
)
def test_the_longest_beginning_counts(state: str | None, error: type[EndpointError]) -> None:
    assert meaning_of(state).error is error


def test_what_other_lists_of_states_said() -> None:
    every = [
        f"{a}{b}"
        for a in ("22", "23", "25", "40", "42", "53", "55", "57", "58", "XX")
        for b in (
            "000",
            "001",
            "002",
            "005",
            "006",
            "014",
            "100",
            "200",
            "300",
            "400",
            "501",
            "505",
            "P01",
            "P03",
            "P04",
        )
    ]
    busy = {state for state in every if meaning_of(state).busy}
    assert busy == {"40001", "40P01", "55P03", "57014", "53000", "53200", "53400"}
    assert {state for state in every if meaning_of(state).contention} == {"40001", "40P01", "55P03"}
    assert {state for state in every if meaning_of(state).collides} == {"23505", "23P01"}
    assert {state for state in every if meaning_of(state).read_only} == {"25006"}
    inconclusive = ("42501", "55P03", "57014", "53", "40", "58", "XX001", "XX002", "25006")
    assert {state for state in every if meaning_of(state).inconclusive} == {
        state for state in every if state.startswith(inconclusive)
    }


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('FATAL:  database "x" does not exist', MissingObjectError),
        ("canceling statement due to lock timeout", BusyError),
        ("connection timeout expired", UnreachableError),
        ("server closed the connection unexpectedly", UnreachableError),
        ("whatever", ReadError),
    ],
)
def test_errors_without_a_state(text: str, error: type[EndpointError]) -> None:
    assert explain(raised(None, text)).meaning.error is error


def test_a_slot_gives_some_errors_another_meaning() -> None:
    for rows in (OF_SLOTS, OF_LOGS):
        with pytest.raises(BusyError, match="end the other reader"), translated(URL, rows):
            raise raised("55006")
    with pytest.raises(LogLostError, match="start over"), translated(URL, OF_LOGS):
        raise raised("58P01")
    with pytest.raises(ReadError), translated(URL, OF_SLOTS):
        raise raised("58P01")
    assert explain(raised("42P01"), OF_LOGS).meaning == explain(raised("42P01")).meaning != ErrorMeaning()
