"""Tables of a task on each engine, through plain drivers: how they are created, written and read. Knows no Tieout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tests.faults.kills.places import Place
from tests.faults.kills.writer import say
from tests.faults.tasks.interpreter import Image
from tests.faults.tasks.task import Column, Entry, Task

_TYPES = {
    "mariadb": {
        "int": "INT",
        "big": "BIGINT",
        "decimal": "DECIMAL(10,2)",
        "text": "VARCHAR(40)",
        "flag": "BOOLEAN",
        "day": "DATE",
        "at": "DATETIME(6)",
        "instant": "TIMESTAMP(6) NULL",
        "raw": "VARBINARY(60)",
        "long": "LONGTEXT",
    },
    "postgres": {
        "int": "INTEGER",
        "big": "BIGINT",
        "decimal": "NUMERIC(10,2)",
        "text": "VARCHAR(40)",
        "flag": "BOOLEAN",
        "day": "DATE",
        "at": "TIMESTAMP",
        "instant": "TIMESTAMPTZ",
        "raw": "BYTEA",
        "long": "TEXT",
    },
    "sqlite": {
        "int": "INTEGER",
        "big": "BIGINT",
        "decimal": "DECIMAL(10,2)",
        "text": "VARCHAR(40)",
        "flag": "BOOLEAN",
        "day": "DATE",
        "at": "DATETIME",
        "raw": "BLOB",
        "long": "TEXT",
    },
}
_COMPUTED = {
    "int": {"mariadb": "BIGINT", "postgres": "BIGINT", "sqlite": "BIGINT"},
    # SQLite would make a number with 15 digits of it.
    "decimal": {"mariadb": "DECIMAL(38,10)", "postgres": "NUMERIC(38,10)", "sqlite": "TEXT"},
    "text": {"mariadb": "TEXT", "postgres": "TEXT", "sqlite": "TEXT"},
    "condition": {"mariadb": "BOOLEAN", "postgres": "BOOLEAN", "sqlite": "BOOLEAN"},
}
"""Wide enough for all that is computed."""
_EXACT_COLLATION = "utf8mb4_nopad_bin"


def quoted(engine: str, name: str) -> str:
    mark = "`" if engine == "mariadb" else '"'
    return f"{mark}{name}{mark}"


def create_sources(place: Place, task: Task) -> None:
    with closing(opened(place)) as connection:
        for entry in task.entries:
            for table in entry.tables:
                types = _TYPES[place.engine]
                lines = [_line(place.engine, each, entry, entry.key, types[each.kind]) for each in entry.columns]
                _create(place, connection, table, lines, entry.key)
                if place.engine == "postgres" and (entry.full or not entry.key):
                    say("postgres", connection, f"ALTER TABLE {quoted('postgres', table)} REPLICA IDENTITY FULL")


def create_targets(place: Place, task: Task) -> None:
    """Those that are there before the mover."""
    with closing(opened(place)) as connection:
        for entry in task.entries:
            if entry.exists:
                key = entry.target_key
                lines = [
                    _line(place.engine, each, entry, key, _target_type(place.engine, each, entry))
                    for each in entry.target_columns
                ]
                _create(place, connection, entry.target, lines, key)


def _create(place: Place, connection: Any, table: str, lines: list[str], key: Sequence[str]) -> None:
    if key:
        lines = [*lines, f"PRIMARY KEY ({', '.join(quoted(place.engine, name) for name in key)})"]
    say(place.engine, connection, f"CREATE TABLE {quoted(place.engine, table)} ({', '.join(lines)})")


def _line(engine: str, column: Column, entry: Entry, key: Sequence[str], kind: str) -> str:
    if engine == "mariadb" and column.kind in ("text", "long"):
        collation = entry.collation if column.name in key else _EXACT_COLLATION
        kind += f" CHARACTER SET utf8mb4 COLLATE {collation}"
    return f"{quoted(engine, column.name)} {kind}" + (" NOT NULL" if column.name in key else "")


def _target_type(engine: str, column: Column, entry: Entry) -> str:
    if column.name not in entry.computed or column.kind not in _COMPUTED:
        return _TYPES[engine][column.kind]
    return "VARCHAR(60)" if column.name in entry.target_key else _COMPUTED[column.kind][engine]


def opened(place: Place) -> Any:
    """A connection whose moments are in UTC."""
    connection = place.open()
    if place.engine == "mariadb":
        say("mariadb", connection, "SET time_zone = '+00:00'")
    elif place.engine == "postgres":
        say("postgres", connection, "SET TimeZone = 'UTC'")
    return connection


def written(engine: str, kind: str, value: Any) -> Any:
    """A value as the driver takes it."""
    if value is None:
        return None
    if kind == "instant" and engine == "postgres":
        return value.replace(tzinfo=UTC)
    if engine != "sqlite":
        return value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date) else value


def understood(kind: str, value: Any) -> Any:
    """A value as a driver gives it, in the form of expressions."""
    if value is None:
        return None
    if kind == "decimal":
        return Decimal(repr(value) if isinstance(value, float) else value)
    if kind in ("flag", "condition"):
        return _same(bool(value), value)
    if kind == "day":
        return date.fromisoformat(value) if isinstance(value, str) else value
    if kind in ("at", "instant"):
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return bytes(value) if kind == "raw" else value


def _same(meaning: bool, value: Any) -> Any:
    """A number that is neither 0 nor 1 is no truth value."""
    return meaning if meaning == value else value


def source_rows(place: Place, task: Task) -> dict[str, list[dict[str, Any]]]:
    with closing(opened(place)) as connection:
        return {
            table: [
                dict(zip((column.name for column in entry.columns), row, strict=True))
                for row in _rows(place, connection, table, entry.columns)
            ]
            for entry in task.entries
            for table in entry.tables
        }


def target_rows(place: Place, task: Task) -> dict[str, Counter[Image]]:
    with closing(opened(place)) as connection:
        return {
            entry.target: Counter(_rows(place, connection, entry.target, entry.target_columns))
            for entry in task.entries
        }


def _rows(place: Place, connection: Any, table: str, columns: Iterable[Column]) -> list[Image]:
    columns = tuple(columns)
    names = ", ".join(quoted(place.engine, column.name) for column in columns)
    rows = say(place.engine, connection, f"SELECT {names} FROM {quoted(place.engine, table)}")
    return [tuple(understood(column.kind, value) for column, value in zip(columns, row, strict=True)) for row in rows]


def schema_of(place: Place) -> str:
    """What `_schema` is."""
    return {"mariadb": place.name, "postgres": "public", "sqlite": "main"}[place.engine]
