"""PostgreSQL's text of an array as JSON, as to_json writes it."""

from __future__ import annotations

import json
from typing import Any

from tieout.model.types import LogicalType, TypeName

_MOMENTS = {TypeName.TIMESTAMP, TypeName.INSTANT}
_NUMBERS = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.FLOAT32, TypeName.FLOAT64}


def array_json(text: str, kind: LogicalType) -> str:
    """From {1,NULL,{…}}, perhaps with bounds before it. What JSON has no number for (NaN) is a text."""
    elements, _ = _elements(text, text.index("{") + 1)
    return _written(elements, kind.element.name if kind.element else TypeName.TEXT)


def _elements(text: str, at: int) -> tuple[list[Any], int]:
    """The elements from behind an opening brace, and the place behind the closing one. NULL is None."""
    found: list[Any] = []
    while text[at] != "}":
        if text[at] == "{":
            value, at = _elements(text, at + 1)
            found.append(value)
        elif text[at] == '"':
            word, at = _quoted(text, at + 1)
            found.append(word)
        else:
            end = min(place for place in (text.find(",", at), text.find("}", at)) if place >= 0)
            word, at = text[at:end], end
            found.append(None if word == "NULL" else word)
        if text[at] == ",":
            at += 1
    return found, at + 1


def _quoted(text: str, at: int) -> tuple[str, int]:
    letters: list[str] = []
    while text[at] != '"':
        if text[at] == "\\":
            at += 1
        letters.append(text[at])
        at += 1
    return "".join(letters), at + 1


def _written(value: Any, element: TypeName) -> str:
    if isinstance(value, list):
        return "[" + ",".join(_written(item, element) for item in value) + "]"
    if value is None:
        return "null"
    if element is TypeName.BOOLEAN:
        return "true" if value == "t" else "false"
    if element in _MOMENTS:
        # JSON's moments are those of ISO 8601.
        value = value.replace(" ", "T", 1).replace("+00", "+00:00") if value[:1].isdigit() else value
    if element is TypeName.JSON or (element in _NUMBERS and value.lstrip("-")[:1].isdigit()):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
