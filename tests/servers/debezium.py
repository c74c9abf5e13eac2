"""Files of change events, as Debezium writes them through Kafka Connect's JSON converter.

`Topic` writes events of rows that a test has; `FeedDatabase` those of an SQLite file that a test writes to.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]

INT = {"type": "int32"}
BIGINT = {"type": "int64"}
TEXT = {"type": "string"}


def named(kind: str, name: str, **parameters: object) -> dict[str, Any]:
    """A schema with a meaning: named("int32", "io.debezium.time.Date")."""
    given = {key.replace("__", "."): str(value) for key, value in parameters.items()}
    return {"type": kind, "name": name, "version": 1, **({"parameters": given} if given else {})}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    name = "org.apache.kafka.connect.data.Decimal"
    return named("bytes", name, scale=scale, connect__decimal__precision=precision)


def unscaled(number: int) -> str:
    """A number as Connect writes the unscaled value of a decimal."""
    return b64encode(number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)).decode()


@dataclass
class Topic:
    """The events of one table. Columns whose names are not in `optional` are NOT NULL.

    `keyed`: each line is an object with key and value, as a dump of a topic has them; else it is the value alone.
    """

    table: str
    columns: dict[str, dict[str, Any]]
    key: Sequence[str] = ("id",)
    schema: str = "shop"
    connector: str = "postgresql"
    optional: Sequence[str] = ()
    keyed: bool = True
    number: int = field(default=0)

    def with_column(self, name: str, schema: dict[str, Any], *, optional: bool = True) -> Topic:
        more = (*self.optional, name) if optional else self.optional
        return Topic(
            self.table,
            {**self.columns, name: schema},
            self.key,
            self.schema,
            self.connector,
            more,
            self.keyed,
            self.number,
        )

    def created(self, *rows: Row) -> list[str]:
        return [self._event("c", None, row) for row in rows]

    def read(self, *rows: Row) -> list[str]:
        """Events of the snapshot that Debezium begins with."""
        return [self._event("r", None, row) for row in rows]

    def updated(self, *rows: Row) -> list[str]:
        return [self._event("u", None, row) for row in rows]

    def deleted(self, *rows: Row) -> list[str]:
        """Each with the tombstone behind it, if there are keys."""
        found = []
        for row in rows:
            before = {name: row.get(name, _zero(self, name)) for name in self.columns}
            found += [self._event("d", before, None), *([self._tombstone(row)] if self.keyed else [])]
        return found

    def rekeyed(self, old: Row, new: Row) -> list[str]:
        """An update of a key: a delete, its tombstone, and an insert."""
        return [*self.deleted(old), *self.created(new)]

    def truncated(self) -> list[str]:
        return [self._event("t", None, None)]

    def _event(self, op: str, before: Row | None, after: Row | None) -> str:
        now = time.time_ns() // 1_000_000
        self.number += 1
        payload = {
            "before": before,
            "after": after,
            "source": {
                "version": "3.2.0.Final",
                "connector": self.connector,
                "name": "server",
                "ts_ms": now,
                "snapshot": "true" if op == "r" else "false",
                "db": "app" if self.connector == "postgresql" else self.schema,
                **({"schema": self.schema} if self.connector == "postgresql" else {}),
                "table": self.table,
                "txId": 500 + self.number,
                **self._place,
            },
            "transaction": None,
            "op": op,
            "ts_ms": now,
        }
        value = {"schema": self._envelope, "payload": payload}
        if not self.keyed or op == "t":
            return _line({"key": None, "value": value} if self.keyed else value)
        row = before if op == "d" else after
        assert row is not None
        return _line({"key": self._key(row), "value": value})

    @property
    def _place(self) -> dict[str, Any]:
        """Where the database's log has the event."""
        if self.connector == "postgresql":
            return {"lsn": 24_000_000 + 8 * self.number}
        if self.connector == "mysql":
            return {"server_id": 7, "file": "mysql-bin.000009", "pos": 100 + 200 * self.number, "row": 0}
        return {}

    def _tombstone(self, row: Row) -> str:
        return _line({"key": self._key(row), "value": None})

    def _key(self, row: Row) -> dict[str, Any]:
        fields = [self._field(name) for name in self.key]
        schema = {"type": "struct", "fields": fields, "optional": False, "name": f"server.{self.table}.Key"}
        return {"schema": schema, "payload": {name: row[name] for name in self.key}}

    def _field(self, name: str) -> dict[str, Any]:
        return {**self.columns[name], "optional": name in self.optional, "field": name}

    @property
    def _envelope(self) -> dict[str, Any]:
        row = {
            "type": "struct",
            "fields": [self._field(name) for name in self.columns],
            "optional": True,
            "name": f"server.{self.schema}.{self.table}.Value",
        }
        fields = [
            {**row, "field": "before"},
            {**row, "field": "after"},
            {"type": "struct", "fields": [], "optional": False, "field": "source"},
            {"type": "string", "optional": False, "field": "op"},
            {"type": "int64", "optional": True, "field": "ts_ms"},
        ]
        name = f"server.{self.schema}.{self.table}.Envelope"
        return {"type": "struct", "fields": fields, "optional": False, "name": name}


def _zero(topic: Topic, name: str) -> Any:
    """What Debezium has for a column of a deleted row that PostgreSQL did not log."""
    if name in topic.optional:
        return None
    return {"string": "", "bytes": "", "boolean": False}.get(topic.columns[name]["type"], 0)


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class Feed:
    """A directory of files. `parameters` of its URL: in tests, nobody changes a column's default in between."""

    directory: Path
    parameters: str = "?added_columns=default"

    @property
    def url(self) -> str:
        return f"debezium:///{self.directory}{self.parameters}"

    def append(self, file: str, lines: Iterable[str]) -> None:
        self.directory.mkdir(exist_ok=True)
        with (self.directory / file).open("ab") as opened:
            opened.write("".join(f"{line}\n" for line in lines).encode())

    def append_raw(self, file: str, data: bytes) -> None:
        with (self.directory / file).open("ab") as opened:
            opened.write(data)


_OPS = (("INSERT", None, "NEW"), ("UPDATE", "OLD", "NEW"), ("DELETE", "OLD", None))
_KINDS = {"INTEGER": INT, "INT": INT, "BIGINT": BIGINT}


@dataclass(frozen=True)
class FeedDatabase:
    """An SQLite file whose changes become events, each when its transaction is committed; with a database's face."""

    directory: Path

    def __post_init__(self) -> None:
        self.directory.mkdir(exist_ok=True)

    @property
    def name(self) -> str:
        return "main"

    @property
    def url(self) -> str:
        return f"debezium:///{self.directory}"

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """A connection in autocommit mode; events are written when the block ends."""
        with closing(sqlite3.connect(self.directory / "source.db", isolation_level=None)) as connection:
            yield connection
            self._publish(connection)

    def execute(self, sql: str) -> None:
        with self.connect() as connection:
            connection.executescript(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(sql).fetchall()

    def _publish(self, connection: sqlite3.Connection) -> None:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS _events (number INTEGER PRIMARY KEY AUTOINCREMENT, t, op, before, after)"
        )
        lines = []
        for number, table, op, before, after in connection.execute("SELECT * FROM _events ORDER BY number"):
            topic = self._topic(connection, table)
            topic.number = number  # each change a transaction: a feed does not tell them anyway
            old, new = (None if row is None else json.loads(row) for row in (before, after))
            if op == "INSERT":
                lines += topic.created(new)
            elif op == "DELETE":
                lines += topic.deleted(old)
            elif any(old[name] != new[name] for name in topic.key):
                lines += topic.rekeyed(old, new)
            else:
                lines += topic.updated(new)
        connection.execute("DELETE FROM _events")
        made = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('_events', 'sqlite_sequence') "
        made += "AND name NOT IN (SELECT tbl_name FROM sqlite_master WHERE type = 'trigger')"
        for (table,) in connection.execute(made).fetchall():
            self._watch(connection, table)
            lines.append(_definition(table))
        with (self.directory / "events.jsonl").open("a") as opened:
            opened.write("".join(f"{line}\n" for line in lines))

    def _watch(self, connection: sqlite3.Connection, table: str) -> None:
        columns = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", [table])]
        for number, (op, old, new) in enumerate(_OPS):
            before, after = (_object(row, columns) for row in (old, new))
            connection.execute(
                f"CREATE TRIGGER {_name(f'{table} {number}')} AFTER {op} ON {_name(table)} BEGIN "
                f"INSERT INTO _events (t, op, before, after) "
                f"VALUES ({_text(table)}, '{op}', {before}, {after}); END"
            )

    def _topic(self, connection: sqlite3.Connection, table: str) -> Topic:
        found = connection.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', [table]).fetchall()
        columns = {name: _KINDS.get(re.sub(r"\(.*", "", kind), TEXT) for name, kind, _, _ in found}
        key = [name for name, _, _, place in sorted(found, key=lambda row: row[3]) if place]
        optional = [name for name, _, required, place in found if not (required or place)]
        return Topic(table, columns, key, "main", "sqlite", optional, keyed=bool(key))


def _definition(table: str) -> str:
    """What Debezium writes to the topic of definitions."""
    source = {"connector": "sqlite", "db": "main", "table": table, "ts_ms": 0}
    payload = {"source": source, "databaseName": "main", "ddl": "", "tableChanges": []}
    return _line({"schema": {"type": "struct", "name": "io.debezium.connector.schema.Change"}, "payload": payload})


def _object(row: str | None, columns: Sequence[str]) -> str:
    if row is None:
        return "NULL"
    return "json_object(" + ", ".join(f"{_text(name)}, {row}.{_name(name)}" for name in columns) + ")"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
