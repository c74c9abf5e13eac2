"""Writes to the tables of a task at random, from a seed, and keeps a record of each row. Knows no Tieout."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import psycopg
import pymysql

from tests.faults.kills.places import Place
from tests.faults.kills.record import BEFORE, Key, Step
from tests.faults.kills.writer import SESSION, Log, say
from tests.faults.tasks import values
from tests.faults.tasks.databases import opened, quoted, schema_of, written
from tests.faults.tasks.interpreter import image
from tests.faults.tasks.task import STAMP, Entry, Task

Row = dict[str, Any]
History = list[tuple[int, Row | None]]
Identity = tuple[str, Key]
"""A table and a key; in a table without one, the number of a row, and which of its copies it is."""

_CLASHES = (pymysql.err.IntegrityError, psycopg.errors.UniqueViolation, sqlite3.IntegrityError)
"""A key that is taken: to a collation, `a` and `A` are one."""


_TRIES = 20


@dataclass
class Record:
    """What became of each row, by transactions. Histories begin with None."""

    steps: list[Step] = field(default_factory=list)
    histories: dict[Identity, History] = field(default_factory=dict)

    def now(self, table: str) -> list[Row]:
        return [
            history[-1][1] for (of, _), history in self.histories.items() if of == table and history[-1][1] is not None
        ]


@dataclass
class Writer:
    """Its own thread, until it is told to stop. `may_empty`: tables may be truncated from now on."""

    source: Place
    task: Task
    pause: float = 0.01
    record: Record = field(default_factory=Record)
    may_empty: Event = field(default_factory=Event)
    number: int = BEFORE
    """The last transaction."""
    _current: dict[str, dict[Key, Row]] = field(default_factory=dict)
    _pending: dict[Identity, Row | None] = field(default_factory=dict)
    _done: Event = field(default_factory=Event)
    _error: list[BaseException] = field(default_factory=list)
    _numbered: int = 0
    _empties: bool = False

    def __post_init__(self) -> None:
        self.chance = random.Random(self.task.seed)
        self._log = Log(self.source.engine)
        # It hides whatever was wrong in the table before.
        self._empties = self.task.seed % 3 == 0
        self._entries = {table: entry for entry in self.task.entries for table in entry.tables}
        self._current = {table: {} for table in self._entries}

    # ------------------------------------------------------------------------------------------------- its life

    def start(self) -> None:
        self._connection = opened(self.source)
        ((self.session,),) = say(self.source.engine, self._connection, SESSION[self.source.engine])
        for table, entry in self._entries.items():
            for _ in range(entry.rows):
                self._transaction([lambda table=table: self._insert(table)], fails=False)
        self.record.steps[:] = self.record.steps[-1:]
        self._thread = Thread(target=self._run, name="writer")
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()
        self._connection.close()
        if self._error:
            raise self._error[0]

    def _run(self) -> None:
        try:
            while not self._done.wait(self.pause):
                self._write()
        except BaseException as error:
            self._error.append(error)

    # ------------------------------------------------------------------------------------------ its transactions

    def _write(self) -> None:
        what = self.chance.random()
        if what < 0.01 and (self.source.engine != "postgres" or self.task.batch_bytes >= 100_000):
            self._log.rotate(self._connection)
            return
        if self._empties and self.may_empty.is_set():
            self._empties = False
            if self._empty():
                return
        count = 80 if what > 0.99 else self.chance.randint(1, 5)
        self._transaction([self._change for _ in range(count)], fails=self.chance.random() < 0.08)

    def _transaction(self, changes: Sequence[Callable[[], None]], *, fails: bool) -> None:
        self.number += 1
        try:
            self._say("BEGIN IMMEDIATE" if self.source.engine == "sqlite" else "BEGIN")
            for change in changes:
                change()
            if fails:
                self._roll_back()
                return
            asked = time.monotonic()
            self._say("COMMIT")
            self._keep(asked)
        except _CLASHES:
            self._roll_back()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            self._roll_back()

    def _keep(self, asked: float) -> None:
        for identity, before in self._pending.items():
            table, key = identity
            history = self.record.histories.setdefault(identity, [(-1, None)])
            now = self._current[table].get(key)
            if now != before or now is not None:
                history.append((self.number, now))
        self._pending = {}
        self.record.steps.append(Step(self.number, asked, self._log.length(self._connection, self.number)))

    def _roll_back(self) -> None:
        if self.source.engine != "sqlite" or self._connection.in_transaction:
            self._say("ROLLBACK")
        for (table, key), before in self._pending.items():
            if before is None:
                self._current[table].pop(key, None)
            else:
                self._current[table][key] = before
        self._pending = {}

    def _empty(self) -> bool:
        """By itself: MariaDB commits before and after it."""
        tables = [table for table, entry in self._entries.items() if entry.may_be_emptied]
        if not tables:
            return False
        self.number += 1
        table = self.chance.choice(tables)
        asked = time.monotonic()
        words = "DELETE FROM" if self.source.engine == "sqlite" else "TRUNCATE TABLE"
        self._say(f"{words} {self._quoted(table)}")
        for key in list(self._current[table]):
            self._changed(table, key, None)
        self._keep(asked)
        self._transaction([lambda: self._insert(table) for _ in range(self._entries[table].rows // 2)], fails=False)
        return True

    # ------------------------------------------------------------------------------------------------ its changes

    def _change(self) -> None:
        table = self.chance.choice(list(self._entries))
        there = len(self._current[table])
        usual = max(self._entries[table].rows, 40)
        change = self.chance.choice(
            (
                self._insert if there < usual * 1.3 else self._delete,
                self._delete if there > usual * 0.6 else self._insert,
                self._update,
                self._update,
                self._cross,
                self._change_key,
            )
        )
        change(table)

    def _insert(self, table: str) -> None:
        entry = self._entries[table]
        row = self._new_row(entry)
        copies = 1
        if not entry.key and self.task.delivery == "exactly-once":
            copies = self.chance.choice((1, 1, 2, 3))
        if entry.key and self._key(entry, row) in self._current[table]:
            return
        names = ", ".join(self._quoted(name) for name in row)
        for copy in range(copies):
            self._say(
                f"INSERT INTO {self._quoted(table)} ({names}) VALUES ({', '.join(['%s'] * len(row))})",
                self._written(entry, row),
            )
            self._changed(table, self._key(entry, row) if entry.key else (row[STAMP], copy), row)

    def _update(self, table: str) -> None:
        """Some columns of a row, or all of them but its key."""
        entry, key = self._entries[table], self._any(table)
        if key is None:
            return
        before = self._current[table][key]
        others = [column for column in entry.columns if column.name not in (*entry.key, STAMP)]
        chosen = self.chance.sample(others, self.chance.randint(min(1, len(others)), len(others)))
        self._replace(table, before, {column.name: values.value(self.chance, column.kind) for column in chosen})

    def _cross(self, table: str) -> None:
        """An update after which the task's condition holds for a row, if it did not before, or no longer does."""
        entry, key = self._entries[table], self._any(table)
        if key is None:
            return
        before = self._current[table][key]
        schema = schema_of(self.source)
        passes = image(entry, schema, table, before) is not None
        for _ in range(_TRIES if entry.where else 0):
            fresh = values.row(self.chance, entry.columns, (), STAMP)
            changes = {name: value for name, value in fresh.items() if name not in entry.key}
            stamped = {**before, **changes, STAMP: self.number}
            if (image(entry, schema, table, stamped) is not None) != passes:
                self._replace(table, before, changes)
                return
        self._update(table)

    def _change_key(self, table: str) -> None:
        """Of one row, or two rows change places, by way of a place that is free."""
        entry, key = self._entries[table], self._any(table)
        if key is None:
            return
        before = self._current[table][key]
        if not entry.key:
            self._delete(table)
            return
        name = self.chance.choice(entry.key)
        after = {name: values.key_value(self.chance, entry.kind(name))}
        if entry.kind(name) == "text" and self.chance.random() < 0.5:
            after = {name: before[name].swapcase()[:40]}
        there = self._current[table].get(self._key(entry, {**before, **after}))
        if there is None:
            self._replace(table, before, after)
        elif there is not before:
            free = {"text": "free", "day": values.DAYS[0]}.get(entry.kind(name), -999)
            if self._key(entry, {**before, name: free}) in self._current[table]:
                return
            self._replace(table, before, {name: free})
            self._replace(table, there, {name: before[name]})
            self._replace(table, {**before, name: free}, after)

    def _replace(self, table: str, before: Row, changes: Row) -> None:
        """Changes a row, and with it all its copies if the table has no key."""
        entry = self._entries[table]
        changes = {**changes, STAMP: self._stamp(entry)}
        after = {**before, **changes}
        sets = ", ".join(f"{self._quoted(name)} = %s" for name in changes)
        where, known = self._where(entry, before)
        self._say(f"UPDATE {self._quoted(table)} SET {sets} WHERE {where}", [*self._written(entry, changes), *known])
        for key in self._keys_of(table, before):
            self._changed(table, key, None)
            self._changed(table, self._key(entry, after) if entry.key else (after[STAMP], key[1]), after)

    def _delete(self, table: str) -> None:
        """A row; where there are copies of it, all or one of them."""
        entry, key = self._entries[table], self._any(table)
        if key is None:
            return
        row = self._current[table][key]
        keys = self._keys_of(table, row)
        where, known = self._where(entry, row)
        name = self._quoted(table)
        if len(keys) > 1 and self.chance.random() < 0.5:
            hidden = {"mariadb": None, "postgres": "ctid", "sqlite": "rowid"}[self.source.engine]
            one = f"{hidden} = (SELECT {hidden} FROM {name} WHERE {where} LIMIT 1)" if hidden else f"{where} LIMIT 1"
            self._say(f"DELETE FROM {name} WHERE {one}", known)
            self._changed(table, keys[-1], None)
            return
        self._say(f"DELETE FROM {name} WHERE {where}", known)
        for each in keys:
            self._changed(table, each, None)

    # -------------------------------------------------------------------------------------------------- its hands

    def _new_row(self, entry: Entry) -> Row:
        return {**values.row(self.chance, entry.columns, entry.key, STAMP), STAMP: self._stamp(entry)}

    def _stamp(self, entry: Entry) -> int:
        self._numbered += 1
        return self.number if entry.key else self._numbered

    @staticmethod
    def _key(entry: Entry, row: Row) -> Key:
        return tuple(row[name] for name in entry.key)

    def _keys_of(self, table: str, row: Row) -> list[Key]:
        entry = self._entries[table]
        if entry.key:
            return [self._key(entry, row)]
        return sorted(key for key in self._current[table] if key[0] == row[STAMP])

    def _where(self, entry: Entry, row: Row) -> tuple[str, list[Any]]:
        names = entry.key or (STAMP,)
        return (
            " AND ".join(f"{self._quoted(name)} = %s" for name in names),
            [written(self.source.engine, entry.kind(name), row[name]) for name in names],
        )

    def _written(self, entry: Entry, row: Row) -> list[Any]:
        return [written(self.source.engine, entry.kind(name), value) for name, value in row.items()]

    def _any(self, table: str) -> Key | None:
        keys = list(self._current[table])
        return self.chance.choice(keys) if keys else None

    def _changed(self, table: str, key: Key, row: Row | None) -> None:
        self._pending.setdefault((table, key), self._current[table].get(key))
        if row is None:
            self._current[table].pop(key, None)
        else:
            self._current[table][key] = row

    def _quoted(self, name: str) -> str:
        return quoted(self.source.engine, name)

    def _say(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        say(self.source.engine, self._connection, statement, parameters)
