"""A task to play: source tables, what the task makes of them, and how they are moved. Knows no Tieout."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.faults.kills.movers import Kill
from tests.faults.tasks.expressions import Expression

STAMP = "s"
"""A column of every source table: which transaction wrote the row, or which row it is, if its table has no key."""

ORIGIN = frozenset({"_table", "_schema"})


@dataclass(frozen=True)
class Column:
    name: str
    kind: str


@dataclass(frozen=True)
class Entry:
    """An entry of a task: one source table, or several alike, and the target table that gets their rows.

    `chosen`: only these columns; None: all that are not `excluded`. `key` are columns of the source, `shard` is the
    computed column that tells merged tables apart. `exists`: the target table is there before the mover. `full`: the
    log of PostgreSQL has all of a changed row. `collation` is MariaDB's.
    """

    tables: tuple[str, ...]
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    target: str
    where: Expression | None = None
    chosen: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    computed: dict[str, Expression] = field(default_factory=dict)
    shard: str | None = None
    exists: bool = False
    full: bool = True
    collation: str = "utf8mb4_nopad_bin"
    rows: int = 60

    @property
    def pattern(self) -> str:
        return self.tables[0] if len(self.tables) == 1 else f"{self.tables[0].rpartition('_')[0]}_*"

    @property
    def unchanged(self) -> tuple[Column, ...]:
        """The source's columns that the target gets as they are."""
        return tuple(
            column
            for column in self.columns
            if (self.chosen is None or column.name in self.chosen)
            and column.name not in self.excluded
            and column.name not in self.computed
        )

    @property
    def target_columns(self) -> tuple[Column, ...]:
        return (*self.unchanged, *(Column(name, text.kind) for name, text in self.computed.items()))

    @property
    def target_key(self) -> tuple[str, ...]:
        """That of a table that Tieout creates has all that is computed of the key and a source table's name."""
        if not self.key:
            return ()
        if self.exists:
            return (*self.key, *([self.shard] if self.shard else []))
        of_key = {*self.key, *ORIGIN}
        more = [name for name, text in self.computed.items() if text.names & ORIGIN and text.names <= of_key]
        return (*self.key, *more)

    @property
    def may_be_emptied(self) -> bool:
        """A mover refuses to empty a table whose rows are told apart by the name of their table."""
        return not any(text.names & ORIGIN for text in self.computed.values())

    def kind(self, name: str) -> str:
        return next(column.kind for column in self.columns if column.name == name)

    def asked(self) -> dict[str, Any]:
        """As the arguments of a TableRequest."""
        return {
            "source": self.pattern,
            "target": self.target if self.target != self.pattern else None,
            "where": self.where.sql if self.where else None,
            "columns": list(self.chosen) if self.chosen is not None else None,
            "exclude_columns": list(self.excluded),
            "expressions": {name: [text.sql, ""] for name, text in self.computed.items()},
        }

    def lines(self) -> list[str]:
        """As tieout.yaml has it, below a comment that says what it is about."""
        columns = ", ".join(f"{column.name} {column.kind}" for column in self.columns)
        there = "is there before" if self.exists else "is created"
        about = (
            f"# {', '.join(self.tables)} ({columns}), key ({', '.join(self.key)}), {self.rows} rows; the target {there}"
        )
        about += f"; {self.collation}" + ("; FULL" if self.full else "")
        asked = {"from": self.pattern, "to": self.target}
        if self.where:
            asked["where"] = self.where.sql
        lines = [about, *(f"{name}: {_quoted(text)}" for name, text in asked.items())]
        if self.chosen is not None:
            lines.append(f"columns: {_quoted(list(self.chosen))}")
        if self.computed:
            lines.append(f"columns: {_quoted({name: text.sql for name, text in self.computed.items()})}")
        if self.excluded:
            lines.append(f"exclude_columns: {_quoted(list(self.excluded))}")
        return [f"      {'- ' if number == 1 else '  '}{line}" for number, line in enumerate(lines)]


@dataclass(frozen=True)
class Task:
    """All that is chosen before it is played. `wal` is for files of SQLite."""

    name: str
    seed: int
    pair: str
    delivery: str
    entries: tuple[Entry, ...]
    kills: tuple[Kill, ...]
    consistency: str = "transaction"
    target_level: str | None = None
    chunk_rows: int = 30
    batch_bytes: int = 10_000
    merge_connections: int = 2
    wal: bool = False

    @property
    def source_engine(self) -> str:
        return self.pair.partition("-")[0]

    @property
    def target_engine(self) -> str:
        return self.pair.partition("-")[2]

    @property
    def options(self) -> dict[str, Any]:
        return {
            "chunk_rows": self.chunk_rows,
            "batch_bytes": self.batch_bytes,
            "merge_connections": self.merge_connections,
        }

    def __str__(self) -> str:
        lines = [
            f"# seed {self.seed}, {self.pair}" + (", write-ahead log" if self.wal else ""),
            *(f"# {kill}" for kill in self.kills),
            "tasks:",
            f"  {self.name}:",
            f"    delivery: {self.delivery}",
            f"    consistency: {self.consistency}",
            *([f"    target_level: {self.target_level}"] if self.target_level else []),
            f"    move: {_quoted(self.options)}",
            "    tables:",
        ]
        return "\n".join([*lines, *(line for entry in self.entries for line in entry.lines())])


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
