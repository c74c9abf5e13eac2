"""JSON and arrays: compared by value, with numbers exact and the order of keys ignored."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tieout.canonical.arrays import as_binary, odd_text, python_text, status_of
from tieout.canonical.fields import ODD, Field
from tieout.model.kinds import Kind

_MAX_PLAIN_EXPONENT = 400
"""Numbers with a larger exponent keep it: 1e999999999 is not worth a gigabyte of zeros."""


class _Duplicate(ValueError):
    """An object with one key twice has no single value."""


def json_value(kind: Kind, array: pa.Array) -> Field:
    return _documents(array)


def array_value(kind: Kind, array: pa.Array) -> Field:
    """Arrays arrive as [bounds, elements] in JSON, so that arrays with other bounds differ."""
    return _documents(array)


def _documents(array: pa.Array) -> Field:
    status = status_of(array)
    odd: dict[int, str] = {}
    seen: dict[object, str | None] = {}
    result: list[bytes | None] = []
    for row, value in enumerate(array.to_pylist()):
        result.append(None)
        if value is None:
            continue
        if value not in seen:
            seen[value] = canonical_json(python_text(value))
        text = seen[value]
        if text is None:
            status[row], odd[row] = ODD, odd_text(value)
        else:
            result[row] = text.encode("utf-8", "surrogatepass")
    values = as_binary(pa.array(result, pa.large_binary()))
    return Field(status, None, values, lambda row: values[row].as_py().decode("utf-8", "surrogatepass"), odd)


def canonical_json(text: str) -> str | None:
    """JSON with sorted keys, no spaces and numbers by value; None if it is invalid or has a key twice."""
    try:
        value = json.loads(
            text, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse, object_pairs_hook=_unique
        )
        return _write(value)
    except (ValueError, RecursionError, ArithmeticError):
        return None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Duplicate
    return result


def _write(value: Any) -> str:
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{_write(v)}" for k, v in sorted(value.items())) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(_write, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _number(value: Decimal) -> str:
    if value == 0:
        return "0"
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    # However it was spelled: 10e400 is 1e401.
    shortest = "".join(map(str, digits)).rstrip("0")
    exponent += len(digits) - len(shortest)
    if abs(exponent) > _MAX_PLAIN_EXPONENT:
        return f"{'-' if sign else ''}{shortest}e{exponent}"
    return format(Decimal((sign, tuple(map(int, shortest)), exponent)), "f")
