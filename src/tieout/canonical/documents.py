"""JSON and arrays: compared by value, with numbers exact and the order of keys ignored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tieout.canonical.fields import ODD, Field, as_binary, odd_text, python_text, status_of
from tieout.model.canonical_kinds import Kind

_MAX_PLAIN_EXPONENT = 400
"""Numbers with a larger exponent keep it: 1e999999999 is not worth a gigabyte of zeros."""


DEEPEST = 500
"""The depth up to which a document has a canonical form. Python's parser allows twice as many levels, less the current
stack.
"""


@dataclass(frozen=True, slots=True)
class _Token:
    """The characters between values."""

    text: str
    closes: bool = False


_COMMA, _COLON = _Token(","), _Token(":")
_END_OF_OBJECT, _END_OF_LIST = _Token("}", closes=True), _Token("]", closes=True)


class _TooDeep(Exception):
    """Has more levels than DEEPEST."""


class _Duplicate(ValueError):
    """An object that has a key twice has no single value."""


def json_value(kind: Kind, array: pa.Array) -> Field:
    return _documents(array)


def array_value(kind: Kind, array: pa.Array) -> Field:
    """Arrays arrive as [bounds, elements] in JSON, so that arrays with other bounds differ."""
    return _documents(array)


def json_array_value(kind: Kind, array: pa.Array) -> Field:
    """Arrays of JSON: each element is the text of a document."""
    return _documents(array, canonical_json_array)


def _documents(array: pa.Array, canonical: Callable[[str], str | None] | None = None) -> Field:
    status = status_of(array)
    odd: dict[int, str] = {}
    seen: dict[object, str | None] = {}
    result: list[bytes | None] = []
    for row, value in enumerate(array.to_pylist()):
        result.append(None)
        if value is None:
            continue
        if value not in seen:
            seen[value] = (canonical or canonical_json)(python_text(value))
        text = seen[value]
        if text is None:
            status[row], odd[row] = ODD, odd_text(value)
        else:
            result[row] = text.encode("utf-8", "surrogatepass")
    values = as_binary(pa.array(result, pa.large_binary()))
    return Field(status, None, values, lambda row: values[row].as_py().decode("utf-8", "surrogatepass"), odd)


def canonical_json(text: str) -> str | None:
    """JSON with sorted keys, no spaces and numbers by value; None if it is invalid, has a key twice or is too deep."""
    try:
        value = _read(text)
    except (ValueError, RecursionError, ArithmeticError):
        return None
    return _written(value)


def canonical_json_array(text: str) -> str | None:
    """[bounds, elements] with the elements in lists of any depth: each document as the text of its canonical form.

    As text, JSON's null differs from the array's own NULL. A document that has no canonical form stays unchanged.
    """
    try:
        value = _read(text)
    except (ValueError, RecursionError, ArithmeticError):
        return None
    return _written(_with_canonical(value) if isinstance(value, list) else value)


def _with_canonical(elements: list[Any]) -> list[Any]:
    head, *rest = elements or [None]
    if len(elements) == 2 and isinstance(rest[0], list) and (head is None or isinstance(head, str)):
        return [head, _canonical_elements(rest[0])]
    return elements


def _canonical_elements(elements: list[Any]) -> list[Any]:
    return [
        _canonical_elements(each) if isinstance(each, list) else each if each is None else canonical_json(each) or each
        for each in elements
    ]


def _read(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse, object_pairs_hook=_unique)


def _written(value: Any) -> str | None:
    """None if it is nested deeper than DEEPEST, whatever the stack is, so that all stages agree."""
    try:
        return _write(value, DEEPEST)
    except _TooDeep:
        return None
    except RecursionError:
        return _write_deep(value)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Duplicate
    return result


def _write(value: Any, levels: int) -> str:
    """Allows at most this many levels of lists and objects."""
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, dict | list):
        if not levels:
            raise _TooDeep
        below = levels - 1
        if isinstance(value, list):
            return "[" + ",".join([_write(each, below) for each in value]) + "]"
        return "{" + ",".join([f"{_scalar(k)}:{_write(v, below)}" for k, v in sorted(value.items())]) + "}"
    return _scalar(value)


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_deep(value: Any) -> str | None:
    """The same without recursion, which takes two frames for each level; None if it is too deep."""
    written: list[str] = []
    todo: list[Any] = [value]
    depth = 0
    while todo:
        item = todo.pop()
        if isinstance(item, _Token):
            written.append(item.text)
            depth -= item.closes
        elif isinstance(item, dict | list):
            depth += 1
            if depth > DEEPEST:
                return None
            is_object = isinstance(item, dict)
            written.append("{" if is_object else "[")
            todo.append(_END_OF_OBJECT if is_object else _END_OF_LIST)
            todo += reversed(_members(item) if isinstance(item, dict) else _elements(item))
        else:
            written.append(_write(item, 0))
    return "".join(written)


def _members(value: dict[str, Any]) -> list[Any]:
    items = [part for name, item in sorted(value.items()) for part in (_COMMA, name, _COLON, item)]
    return items[1:]


def _elements(value: list[Any]) -> list[Any]:
    return [part for item in value for part in (_COMMA, item)][1:]


def _number(value: Decimal) -> str:
    if value == 0:
        return "0"
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    # Independent of the spelling: 10e400 is 1e401.
    shortest = "".join(map(str, digits)).rstrip("0")
    exponent += len(digits) - len(shortest)
    if abs(exponent) > _MAX_PLAIN_EXPONENT:
        return f"{'-' if sign else ''}{shortest}e{exponent}"
    return format(Decimal((sign, tuple(map(int, shortest)), exponent)), "f")
