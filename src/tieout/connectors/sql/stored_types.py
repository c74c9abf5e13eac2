"""The types of a source's columns, as the progress stores them: at the position that the target has reached."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName


def types_text(columns: Iterable[Column]) -> str:
    return json.dumps({column.name: [_fields(column), _type_fields(column.type)] for column in columns})


def _fields(column: Column) -> list[object]:
    return [column.nullable, column.generated, column.collation, column.charset]


def _type_fields(t: LogicalType) -> list[object]:
    element = None if t.element is None else _type_fields(t.element)
    return [t.name, t.native, t.precision, t.scale, t.unsigned, t.values, element, t.engine]


def types_of(text: str) -> dict[str, Column]:
    found = {}
    for name, ((nullable, generated, collation, charset), fields) in json.loads(text).items():
        found[name] = Column(
            name, _type_of(fields), nullable, generated=generated, collation=collation, charset=charset
        )
    return found


def _type_of(fields: list[Any]) -> LogicalType:
    name, native, precision, scale, unsigned, values, element, engine = fields
    inner = None if element is None else _type_of(element)
    return LogicalType(TypeName(name), native, precision, scale, unsigned, tuple(values), inner, engine)
