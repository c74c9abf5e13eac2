"""Errors of drivers, while values are hidden: what kind they are is still known, and their codes are told."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest

from tieout.config.urls import parse_url
from tieout.connectors.mysql import errors as mysql
from tieout.connectors.postgres import errors as postgres
from tieout.connectors.sqlite import errors as sqlite
from tieout.errors import BusyError, EndpointError, MissingObjectError, ReadError
from tieout.model.server_words import hidden

SECRET = "4929 1234"
PLACE = "postgresql://me@host:5432/shop"


@pytest.mark.parametrize(
    ("text", "state", "kind", "shown"),
    [
        (f"bad number {SECRET}", "P0001", ReadError, "[P0001 RaiseException] (the message is redacted)"),
        (f"« {SECRET} »", "22P02", ReadError, "[22P02 InvalidTextRepresentation] (the message is redacted)"),
        ("whatever", "49291", ReadError, "(the message is redacted)"),
        (f"ERROR:  {SECRET}. SQLSTATE: P0001", None, ReadError, "[P0001 RaiseException] (the message is redacted)"),
        (f"{SECRET} ist gesperrt", "55P03", BusyError, "[55P03 LockNotAvailable] (the message is redacted)"),
        (
            'relation "t" does not exist',
            "42P01",
            MissingObjectError,
            "[42P01 UndefinedTable] (the message is redacted)",
        ),
    ],
)
def test_postgres(text: str, state: str | None, kind: type[EndpointError], shown: str) -> None:
    raised = type("Raised", (psycopg.Error,), {"sqlstate": state})
    with hidden(), pytest.raises(EndpointError) as caught, postgres.translated(parse_url(PLACE)):
        raise raised(text)
    assert (type(caught.value), caught.value.message) == (kind, f"{PLACE}: {shown}")


@pytest.mark.parametrize(
    ("code", "text", "shown"),
    [
        (1644, f"bad number {SECRET}", "[1644] (the message is redacted)"),
        (1062, f"Duplicate entry '{SECRET}' for key 'k'", "[1062] Duplicate entry ***"),
        (1366, f"Valeur entière incorrecte : {SECRET}", "[1366] (the message is redacted)"),
    ],
)
def test_mysql(code: int, text: str, shown: str) -> None:
    url = parse_url("mysql://me@host:3306/shop")
    with hidden():
        assert mysql.translate(url, code, text).message == f"mysql://me@host:3306/shop: {shown}"
        by_arrow = mysql.translate_arrow(url, f"ERROR {code} (45000): {text}")
    assert SECRET not in str(by_arrow)


def test_sqlite() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE t (v); CREATE TRIGGER raises BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, '4929 1234'); END"
    )
    with hidden(), pytest.raises(ReadError) as caught, sqlite.translated(parse_url("sqlite:///shop.db")):
        connection.execute("INSERT INTO t VALUES (1)")
    assert caught.value.message.endswith(": [SQLITE_CONSTRAINT_TRIGGER] (the message is redacted)")
