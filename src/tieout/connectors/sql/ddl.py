"""How a target's table is made: what is there before its rows, and what only gets in their way until they are.

Defaults are carried over where any two engines agree on them: numbers, texts, truth, and the present moment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tieout.connectors.sql.session import Session
from tieout.model.tables import Column, TableName
from tieout.model.types import TypeName

# No SQL holds a NUL: whatever a default or a comment says, it is not taken for one of these.
TABLE = "\0table\0"
SCHEMA = "\0schema\0"
PARENT = "\0parent\0"
"""Stand in a statement for the target's table, for its schema, and for the table that a foreign key refers to."""
_TEXT, _END = "\0text\0", "\0end\0"
_IN_TEXT = re.compile(f"{_TEXT}(.*?){_END}", re.DOTALL)


def as_text(words: str) -> str:
    """Stands in a statement for a text that says this, with the names put in: quoted last, whatever they are."""
    return f"{_TEXT}{words}{_END}"


@dataclass(frozen=True, slots=True)
class Part:
    """A statement, and the name of the index or constraint that it makes. Without a name it may be run twice."""

    name: str
    statement: str


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A part that refers to another table, `parent` being its name on the source."""

    part: Part
    parent: TableName


@dataclass(frozen=True, slots=True)
class Built:
    """The names of what a table has: an index and a foreign key may share one."""

    indexes: frozenset[str]
    constraints: frozenset[str]


@dataclass(frozen=True, slots=True)
class Structure:
    """Statements in the target's dialect, with TABLE, SCHEMA and PARENT for names.

    `create`: columns, and the key where rows lie in its order. `indexes`: once the rows are copied. `unique`: once all
    rows are of one position; before, two of them may hold one value. `references`: foreign keys, when all tables are
    that far. `counters`: where the numbers of new rows go on, as often as wanted. `needs`: the type of each column that
    is not the engine's own. `columns`: what CREATE TABLE says of each column, its name in front.
    """

    create: tuple[str, ...]
    indexes: tuple[Part, ...] = ()
    unique: tuple[Part, ...] = ()
    references: tuple[ForeignKey, ...] = ()
    counters: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unholdable:
    """A column that no type of the target holds, and why."""

    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key in no engine's words. Actions are SQL's: CASCADE, SET NULL, …"""

    name: str
    columns: tuple[str, ...]
    parent: TableName
    parent_columns: tuple[str, ...]
    on_delete: str
    on_update: str


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a table's description leaves out: the columns that the server numbers, and the next number of each;

    and what the table refers to.
    """

    numbers: Mapping[str, int] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()


def spelled(session: Session, statement: str, table: TableName, parent: TableName | None = None) -> str:
    """A statement of a Structure with the names put in."""
    statement = statement.replace(TABLE, session.table(table)).replace(SCHEMA, session.quote(table.schema))
    if parent is not None:
        statement = statement.replace(PARENT, session.table(parent))
    return _IN_TEXT.sub(lambda found: session.text(found[1]), statement)


_CAST = r'(?:::(?:"(?:[^"]|"")*"|[\w .\[\](),])+)?'
_NUMBER = re.compile(rf"\(?(-?\d+(?:\.\d+)?)\)?{_CAST}", re.ASCII)
# One with a backslash is not the same text in every engine.
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
    """`text` is the number, or the text without quotes; nothing for the present moment."""

    kind: DefaultKind
    text: str = ""


def plain_default(column: Column) -> Default | None:
    """A column's default, unless it has none, or one that only its own engine understands."""
    given, name = (column.default or "").strip(), column.type.name
    if _NOW.fullmatch(given):
        return Default(DefaultKind.NOW) if name in _MOMENTS else None
    number, text = _NUMBER.fullmatch(given), _TEXT_DEFAULT.fullmatch(given)
    found = text[1].replace("''", "'") if text else number[1] if number else _TRUTH.get(given.lower())
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
        read = datetime.fromisoformat  # which knows no zero dates
    if read is None:
        return False
    try:
        read(text)
    except ValueError:
        return False
    return True
