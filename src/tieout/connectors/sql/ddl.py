"""How a mover creates a target's table: what it needs before its rows, and what would only slow down the copy.

Copies a default where any two engines agree on it: numbers, texts, truth values, and the current time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import blake2s

from tieout.connectors.sql.session import SqlSession
from tieout.model.tables import Column, TableName
from tieout.model.types import TypeName

# No SQL holds a NUL, so no default and no comment can look like one of these.
TABLE = "\0table\0"
SCHEMA = "\0schema\0"
PARENT = "\0parent\0"
"""Placeholders in a statement: the target's table, its schema, and the table that a foreign key refers to."""
_TEXT, _END = "\0text\0", "\0end\0"
_NO_WORD = re.compile(r"\W")
_IN_TEXT = re.compile(f"{_TEXT}(.*?){_END}", re.DOTALL)


def as_text(words: str) -> str:
    """A placeholder for a text literal that may contain the placeholders of names; it is quoted last, whatever the
    names are.
    """
    return f"{_TEXT}{words}{_END}"


def _quoted(name: str, mark: str) -> str:
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


@dataclass(frozen=True, slots=True)
class Part:
    """A statement, and the name of the index or constraint that it creates. One without a name can be run twice."""

    name: str
    statement: str

    def named_for(self, table: TableName) -> Part:
        """The part with a name that no other table's has: a schema may get tables of one name, or one table twice."""
        name = (
            f"{_NO_WORD.sub('_', self.name)[:12]}_{blake2s(f'{table}.{self.name}'.encode(), digest_size=6).hexdigest()}"
        )
        own = next(quoted for mark in '"`' if (quoted := _quoted(self.name, mark)) in self.statement)
        return Part(name, self.statement.replace(own, _quoted(name, own[0]), 1))


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A part that refers to another table; `parent` is that table's name on the source.

    `reference`: what it was made of, if it was made of a Reference.
    """

    part: Part
    parent: TableName
    reference: Reference | None = None


@dataclass(frozen=True, slots=True)
class Built:
    """The names of the indexes and constraints that a table has: an index and a foreign key may share one.

    `elsewhere`: names that an index of it can't have, since something else in its schema has them; None if each table
    has names of its own.
    """

    indexes: frozenset[str]
    constraints: frozenset[str]
    elsewhere: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """Statements in the target's dialect, with TABLE, SCHEMA and PARENT for names.

    `create`: columns, and the key where the engine stores rows in its order. `indexes`: after the rows are copied.
    `unique`: after all rows are of one position; before, two of them may have the same value. `references`: foreign
    keys, after all tables are that far. `counters`: where the numbers of new rows continue; these can be run again.
    `needs`: the type of each column that is not built into the engine. `columns`: the definition of each column in
    CREATE TABLE, including its name. `left_out` is what the source's table has and this one lacks, in words.
    """

    create: tuple[str, ...]
    indexes: tuple[Part, ...] = ()
    unique: tuple[Part, ...] = ()
    references: tuple[ForeignKey, ...] = ()
    counters: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnsupportedColumn:
    """A column that no type of the target can hold, and why."""

    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key, independent of the engine. Actions are SQL's: CASCADE, SET NULL, …"""

    name: str
    columns: tuple[str, ...]
    parent: TableName
    parent_columns: tuple[str, ...]
    on_delete: str
    on_update: str


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a table's description leaves out: the columns that the server numbers, with their next numbers, and the
    tables that it refers to.
    """

    numbers: Mapping[str, int] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()


def spelled(session: SqlSession, statement: str, table: TableName, parent: TableName | None = None) -> str:
    """A statement of a Structure with names in place of the placeholders."""
    statement = statement.replace(TABLE, session.table(table)).replace(SCHEMA, session.quote(table.schema))
    if parent is not None:
        statement = statement.replace(PARENT, session.table(parent))
    return _IN_TEXT.sub(lambda found: session.text(found[1]), statement)


_CAST = r'(?:::(?:"(?:[^"]|"")*"|[\w .\[\](),])+)?'
_NUMBER = re.compile(rf"\(?(-?\d+(?:\.\d+)?)\)?{_CAST}", re.ASCII)
# A text with a backslash is not the same in every engine.
_TEXT_DEFAULT = re.compile(rf"'((?:[^'\\]|'')*)'{_CAST}", re.ASCII)
_NOW = re.compile(r"(?:current_timestamp|now)(?:\(\d?\))?", re.IGNORECASE)
_TRUTH = {"true": "1", "false": "0"}

_NUMBERS = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.FLOAT32, TypeName.FLOAT64, TypeName.BOOLEAN, TypeName.YEAR}
_TEXTS = {TypeName.TEXT, TypeName.CHAR, TypeName.ENUM, TypeName.SET, TypeName.UUID, TypeName.TIME}
_MOMENTS = {TypeName.TIMESTAMP, TypeName.INSTANT}


class DefaultKind(StrEnum):
    NUMBER = "number"
    TEXT = "text"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class Default:
    """`text` is the number, or the text without quotes; empty for the current time."""

    kind: DefaultKind
    text: str = ""


def plain_default(column: Column) -> Default | None:
    """A column's default; None if it has none, or one that only its own engine understands."""
    default, name = (column.default or "").strip(), column.type.name
    if _NOW.fullmatch(default):
        return Default(DefaultKind.NOW) if name in _MOMENTS else None
    number, text = _NUMBER.fullmatch(default), _TEXT_DEFAULT.fullmatch(default)
    found = text[1].replace("''", "'") if text else number[1] if number else _TRUTH.get(default.lower())
    if found is None:
        return None
    if name in _NUMBERS:
        return Default(DefaultKind.NUMBER, found) if _NUMBER.fullmatch(found) else None
    if text is None or not (name in _TEXTS or _is_valid(found, name)):
        return None
    return Default(DefaultKind.TEXT, found)


def _is_valid(text: str, name: TypeName) -> bool:
    read: Callable[[str], object] | None = None
    if name is TypeName.JSON:
        read = json.loads
    elif name is TypeName.DATE or name in _MOMENTS:
        read = datetime.fromisoformat  # which rejects zero dates
    if read is None:
        return False
    try:
        read(text)
    except ValueError:
        return False
    return True
