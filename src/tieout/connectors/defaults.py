"""Defaults that any two engines agree on: numbers, texts, truth, and the present moment."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tieout.model.tables import Column
from tieout.model.types import TypeName

_CAST = r'(?:::(?:"(?:[^"]|"")*"|[\w .\[\](),])+)?'
_NUMBER = re.compile(rf"\(?(-?\d+(?:\.\d+)?)\)?{_CAST}", re.ASCII)
# One with a backslash is not the same text in every engine.
_TEXT = re.compile(rf"'((?:[^'\\]|'')*)'{_CAST}", re.ASCII)
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
    number, text = _NUMBER.fullmatch(given), _TEXT.fullmatch(given)
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
