"""Tables as a catalog describes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tieout.model.types import LogicalType


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table by schema (a database on MySQL, "main" on SQLite) and name, both exactly as stored."""

    schema: str
    name: str

    def __str__(self) -> str:
        """Unambiguous: a schema with a dot in its name is in quotes."""
        if "." in self.schema or '"' in self.schema:
            return '"' + self.schema.replace('"', '""') + f'".{self.name}'
        return f"{self.schema}.{self.name}"

    @classmethod
    def parse(cls, text: str) -> TableName | None:
        """Parses what `str` gives; None if it has no schema."""
        if quoted := _QUOTED.fullmatch(text):
            return cls(quoted[1].replace('""', '"'), quoted[2])
        schema, dot, name = text.partition(".")
        return cls(schema, name) if dot else None


_QUOTED = re.compile(r'"((?:[^"]|"")*)"\.(.*)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `order` names the total order its engine sorts it in, or None if none is reliable;

    two columns with the same `order` sort the same values the same way, whichever server does it. `operators` is the
    schema of the operators that compare it, if they are not the engine's own: its type came with an extension.
    """

    name: str
    type: LogicalType
    nullable: bool = True
    generated: bool = False
    default: str | None = None
    collation: str | None = None
    charset: str | None = None
    order: str | None = None
    operators: str | None = None


@dataclass(frozen=True, slots=True)
class Index:
    name: str
    columns: tuple[str, ...]
    unique: bool = False
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Constraint:
    """`kind` is check, foreign key, unique or primary key; `definition` is the engine's own text."""

    name: str
    kind: str
    columns: tuple[str, ...]
    definition: str


@dataclass(frozen=True, slots=True)
class Table:
    """`key` is the primary key, else a unique key without NULLs, else empty: rows are a multiset.

    `sampled_keys` are values of a key of one column that divide its rows into equal parts, according to the
    engine's statistics, in order; empty if they are missing or out of date. `declares`: keys and NOT NULL
    are declared where they hold; files declare neither.
    """

    name: TableName
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    estimated_rows: int | None = None
    average_row_bytes: int | None = None
    engine: str | None = None
    sampled_keys: tuple[str, ...] = ()
    declares: bool = True

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)
