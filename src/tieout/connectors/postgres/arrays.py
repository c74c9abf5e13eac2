"""Arrays in canonical text as PostgreSQL writes them."""

from __future__ import annotations

import json
import re
from typing import Any

from tieout.connectors.protocols.repair import Refused

_BOUNDS = re.compile(r"(\[-?\d+:-?\d+\])+")


class _Number(str):
    """A number as it was written: nothing is rounded."""


def array_literal(text: str) -> str:
    """From [bounds, elements] or plain elements in JSON; PostgreSQL's own text stays as it is."""
    try:
        value = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_Number)
    except ValueError:
        return text
    if not isinstance(value, list):
        return text
    bounds, elements = _parts(value)
    return f"{bounds}={_braces(elements)}" if bounds else _braces(elements)


def _parts(value: list[Any]) -> tuple[str | None, list[Any]]:
    if len(value) == 2 and isinstance(value[1], list):
        if value[0] is None:
            return None, value[1]  # an empty array has no bounds
        if isinstance(value[0], str) and _BOUNDS.fullmatch(value[0]):
            return value[0], value[1]
    return None, value


def _braces(elements: list[Any]) -> str:
    return "{" + ",".join(map(_element, elements)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, list):
        return _braces(value)
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        raise Refused("an array of objects can't be written from JSON")
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
