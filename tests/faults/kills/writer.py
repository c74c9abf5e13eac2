"""Writes to a source at random, from a seed, one transaction after another, and keeps a record of it.

Knows no Tieout. One writer alone: so the order of its transactions is that of the log.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Protocol

from tests.faults.kills.record import BEFORE, Key, Record, Row, Step, key_of

TABLES = {
    "keyed": "CREATE TABLE keyed (id INT NOT NULL PRIMARY KEY, t INT, n INT, note VARCHAR(100))",
    "named": "CREATE TABLE named (name VARCHAR(40) NOT NULL, part INT NOT NULL, t INT, PRIMARY KEY (name, part))",
    "emptied": "CREATE TABLE emptied (id INT NOT NULL PRIMARY KEY, t INT)",
    "loose": "CREATE TABLE loose (t INT, n INT, note VARCHAR(100))",
    "events": "CREATE TABLE events (t INT, note VARCHAR(20))",
    "copies": "CREATE TABLE copies (a INT, b VARCHAR(20))",
}
COLUMNS = {
    "keyed": ("id", "t", "n", "note"),
    "named": ("name", "part", "t"),
    "emptied": ("id", "t"),
    "loose": ("t", "n", "note"),
    "events": ("t", "note"),
    "copies": ("a", "b"),
}
_IDS = 900


class Source(Protocol):
    """A database through its plain driver."""

    engine: str

    def open(self) -> Any: ...


@dataclass
class Writer:
    """Its own thread, until it is told to stop. `may_empty`: tables may be truncated from now on.

    A mover stops a table that is truncated between the reading of its chunks, and says so: that is no kill's doing.
    `rotates`: the log goes on in another file now and then.
    """

    source: Source
    seed: int
    rotates: bool = True
    pause: float = 0.012
    record: Record = field(default_factory=Record)
    may_empty: Event = field(default_factory=Event)
    _done: Event = field(default_factory=Event)
    _error: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self._number = BEFORE
        self._pending: dict[tuple[str, Key], Row | None] = {}
        self._copies: Counter[Row] = Counter()
        self._current: dict[str, dict[Key, Row]] = {table: {} for table in self.record.histories}
        self._log = Log(self.source.engine)

    # ------------------------------------------------------------------------------------------------- its life

    def start(self) -> None:
        self._connection = self.source.open()
        ((self.session,),) = say(self.source.engine, self._connection, SESSION[self.source.engine])
        self._fill()
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

    def _fill(self) -> None:
        self._say("BEGIN")
        for id_ in range(0, _IDS, 3):
            self._put("keyed", (id_, BEFORE, id_, "first"))
        for number in range(150):
            self._put("named", (f"Name {number % 50}", number % 3, BEFORE))
        for id_ in range(60):
            self._put("emptied", (id_, BEFORE))
        for number in range(60):
            self._put("loose", (BEFORE, number, "first"))
        for number in range(80):
            self._copy((number % 5, f"copy {number % 7}"))
        self._commit()

    # ------------------------------------------------------------------------------------------ its transactions

    def _write(self) -> None:
        self._number += 1
        what = self.chance.random()
        if what < 0.01 and self.rotates:
            self._log.rotate(self._connection)
            return
        if what < 0.03 and self.may_empty.is_set():
            self._empty()
            return
        try:
            self._say("BEGIN")
            self._put("events", (self._number, "event"))
            for _ in range(150 if what > 0.99 else self.chance.randint(1, 5)):
                self.chance.choice(_CHANGES)(self)
            if self.chance.random() < 0.08:
                self._roll_back()
            else:
                self._commit()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            self._roll_back()

    def _empty(self) -> None:
        """By itself: MariaDB commits before and after it."""
        asked = time.monotonic()
        self._say("DELETE FROM emptied" if self.source.engine == "sqlite" else "TRUNCATE TABLE emptied")
        for key in list(self._current["emptied"]):
            self._changed("emptied", key, None)
        self._keep(asked)

    def _commit(self) -> None:
        asked = time.monotonic()
        self._say("COMMIT")
        self._keep(asked)

    def _keep(self, asked: float) -> None:
        self.record.changed(self._number, {key: row for key, (_, row) in self._pending_rows().items()})
        self.record.copies.update(self._copies)
        self.record.ever |= {row for row, count in self._copies.items() if count > 0}
        self.record.steps.append(Step(self._number, asked, self._log.length(self._connection, self._number)))
        self._pending, self._copies = {}, Counter()

    def _roll_back(self) -> None:
        self._say("ROLLBACK")
        for (table, key), (before, _) in self._pending_rows().items():
            if before is None:
                self._current[table].pop(key, None)
            else:
                self._current[table][key] = before
        self._pending, self._copies = {}, Counter()

    def _pending_rows(self) -> dict[tuple[str, Key], tuple[Row | None, Row | None]]:
        """Of each key that was touched, what it was before and what it is now."""
        return {(table, key): (before, self._current[table].get(key)) for (table, key), before in self._pending.items()}

    # ------------------------------------------------------------------------------------------------ its changes

    def _update(self) -> None:
        id_ = self._any("keyed")
        if id_ is not None:
            row = (*id_, self._number, self.chance.randrange(1 << 30), f"{self.chance.random()}\t\\'")
            self._say("UPDATE keyed SET t = %s, n = %s, note = %s WHERE id = %s", [*row[1:], *id_])
            self._changed("keyed", id_, row)

    def _insert(self) -> None:
        id_ = (self.chance.randrange(_IDS * 2),)
        if id_ not in self._current["keyed"]:
            self._put("keyed", (*id_, self._number, 0, "new"))

    def _delete(self) -> None:
        id_ = self._any("keyed")
        if id_ is not None:
            self._say("DELETE FROM keyed WHERE id = %s", id_)
            self._changed("keyed", id_, None)

    def _change_key(self) -> None:
        before, after = self._any("keyed"), (self.chance.randrange(_IDS * 2),)
        if before is None or after in self._current["keyed"]:
            return
        row = (*after, self._number, *self._current["keyed"][before][2:])
        self._say("UPDATE keyed SET id = %s, t = %s WHERE id = %s", [*after, self._number, *before])
        self._changed("keyed", before, None)
        self._changed("keyed", after, row)

    def _swap_keys(self) -> None:
        """Two rows change places, by way of a place that is free."""
        one, other = self._any("named"), self._any("named")
        if one is None or other is None or one == other:
            return
        for before, after in ((one, ("free", -1)), (other, one), (("free", -1), other)):
            change = "UPDATE named SET name = %s, part = %s, t = %s WHERE name = %s AND part = %s"
            self._say(change, [*after, self._number, *before])
            self._changed("named", before, None)
            self._changed("named", after, (*after, self._number))

    def _change_part(self) -> None:
        before = self._any("named")
        if before is None:
            return
        after = (before[0], before[1] + 3)
        if after not in self._current["named"]:
            self._say("UPDATE named SET part = part + 3, t = %s WHERE name = %s AND part = %s", [self._number, *before])
            self._changed("named", before, None)
            self._changed("named", after, (*after, self._number))

    def _refill(self) -> None:
        id_ = (self.chance.randrange(100),)
        if id_ in self._current["emptied"]:
            self._say("UPDATE emptied SET t = %s WHERE id = %s", [self._number, *id_])
            self._changed("emptied", id_, (*id_, self._number))
        else:
            self._put("emptied", (*id_, self._number))

    def _add_loose(self) -> None:
        row = (self._number, self.chance.randrange(1 << 30), "loose")
        if row not in self._current["loose"]:
            self._put("loose", row)

    def _change_loose(self) -> None:
        row = self._any("loose")
        if row is None:
            return
        if self.chance.random() < 0.5:
            self._say("DELETE FROM loose WHERE t = %s AND n = %s AND note = %s", row)
            self._changed("loose", row, None)
            return
        after = (self._number, self.chance.randrange(1 << 30), "changed")
        if after in self._current["loose"]:
            return
        self._say("UPDATE loose SET t = %s, n = %s, note = %s WHERE t = %s AND n = %s AND note = %s", [*after, *row])
        self._changed("loose", row, None)
        self._changed("loose", after, after)

    def _add_copy(self) -> None:
        self._copy((self.chance.randrange(5), f"copy {self.chance.randrange(7)}"))

    def _take_copies(self) -> None:
        """All that are alike, or one of them."""
        row = (self.chance.randrange(5), f"copy {self.chance.randrange(7)}")
        there = self.record.copies[row] + self._copies[row]
        if not there:
            return
        if self.chance.random() < 0.3:
            self._say("DELETE FROM copies WHERE a = %s AND b = %s", row)
            self._copies[row] -= there
        else:
            self._say(_ONE_COPY[self.source.engine], row)
            self._copies[row] -= 1

    # -------------------------------------------------------------------------------------------------- its hands

    def _any(self, table: str) -> Key | None:
        keys = list(self._current[table])
        return self.chance.choice(keys) if keys else None

    def _put(self, table: str, row: Row) -> None:
        self._say(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row)
        self._changed(table, key_of(table, row), row)

    def _copy(self, row: Row) -> None:
        self._say("INSERT INTO copies VALUES (%s, %s)", row)
        self._copies[row] += 1

    def _changed(self, table: str, key: Key, row: Row | None) -> None:
        self._pending.setdefault((table, key), self._current[table].get(key))
        if row is None:
            self._current[table].pop(key, None)
        else:
            self._current[table][key] = row

    def _say(self, statement: str, values: Sequence[Any] = ()) -> None:
        say(self.source.engine, self._connection, statement, values)


_CHANGES: Sequence[Callable[[Writer], None]] = (
    Writer._update,
    Writer._update,
    Writer._insert,
    Writer._delete,
    Writer._change_key,
    Writer._swap_keys,
    Writer._change_part,
    Writer._refill,
    Writer._add_loose,
    Writer._change_loose,
    Writer._add_copy,
    Writer._take_copies,
)

SESSION = {"mariadb": "SELECT CONNECTION_ID()", "postgres": "SELECT pg_backend_pid()", "sqlite": "SELECT 0"}
"""How a server calls a connection."""

_ONE_COPY = {
    "mariadb": "DELETE FROM copies WHERE a = %s AND b = %s LIMIT 1",
    "postgres": "DELETE FROM copies WHERE ctid = (SELECT ctid FROM copies WHERE a = %s AND b = %s LIMIT 1)",
    "sqlite": "DELETE FROM copies WHERE rowid = (SELECT rowid FROM copies WHERE a = %s AND b = %s LIMIT 1)",
}


def say(engine: str, connection: Any, statement: str, values: Sequence[Any] = ()) -> list[Row]:
    """Runs a statement; its rows, if it has any."""
    cursor = connection.cursor()
    if engine == "sqlite":
        cursor.execute(statement.replace("%s", "?"), tuple(values))
    else:
        cursor.execute(statement, tuple(values) or None)
    rows = list(cursor.fetchall()) if cursor.description else []
    cursor.close()
    return rows


class Log:
    """How long a source's log is, in its own bytes; it only grows, over files too."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._file, self._offset, self._before = "", 0, 0

    def length(self, connection: Any, number: int) -> int:
        if self._engine == "postgres":
            ((length,),) = say(self._engine, connection, "SELECT (pg_current_wal_insert_lsn() - '0/0')::int8")
            return int(length)
        if self._engine == "mariadb":
            ((file, offset, *_),) = say(self._engine, connection, "SHOW MASTER STATUS")
            if file != self._file:
                self._before += self._offset
            self._file, self._offset = file, int(offset)
            return self._before + self._offset
        return number

    def rotate(self, connection: Any) -> None:
        """The log goes on in another file."""
        if self._engine == "mariadb":
            say(self._engine, connection, "FLUSH BINARY LOGS")
        elif self._engine == "postgres":
            say(self._engine, connection, "SELECT pg_switch_wal()")
