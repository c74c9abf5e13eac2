"""For each form, values that it may meet on the wire, and what makes two of them the same.

The rules are written down once more here, slowly and in plain Python, to be compared with the fast ones.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tieout.model.canonical_kinds import Form, Kind, Tolerance

Wire = tuple[Any, pa.DataType]


@dataclass(frozen=True)
class Sort:
    """A kind, Arrow types with values of them, and the identity of a value: equal exactly if the values are."""

    kind: Kind
    wires: tuple[tuple[pa.DataType, st.SearchStrategy[Any]], ...]
    identity: Callable[[Any], Any]

    def __str__(self) -> str:
        return str(self.kind)

    @property
    def values(self) -> st.SearchStrategy[Wire]:
        return st.one_of([st.tuples(values, st.just(t)) for t, values in self.wires])


# Text that looks like what is expected, and garbage.
noise = st.text(max_size=4) | st.sampled_from(["", "NULL", "0", "1", "-0", "1_0", " 1", "1 ", "１", "0x00", "\0", "N"])
numerals = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-1000, max_value=1000).map(str),
    st.from_regex(r"[+-]?[0-9]{1,4}(\.[0-9]{0,3})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["NaN", "Infinity", "-Infinity", "inf", "1e2", "100", "1E+2", "00100", "-0.0", ".5", "5."]),
)
PLAIN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def number(text: str) -> Decimal | None:
    return Decimal(text) if PLAIN.fullmatch(text) else None


def odd(value: Any) -> tuple[str, str]:
    return ("odd", value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value))


def integer_identity(value: Any) -> Any:
    exact = Decimal(value) if isinstance(value, int | Decimal) else number(value)
    if exact is None or exact != exact.to_integral_value():
        return odd(value)
    return int(exact)


def number_identity(value: Any) -> Any:
    exact = Decimal(value) if isinstance(value, int | Decimal) else number(value)
    if exact is None:
        word = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(value, value)
        return ("word", word)
    return exact.as_integer_ratio()


def float_identity(value: Any) -> Any:
    if isinstance(value, str):
        if number(value) is None and value not in ("NaN", "Infinity", "-Infinity", "inf", "-inf", "nan"):
            return odd(value)
        value = float(value)
    return "NaN" if math.isnan(value) else float(value) + 0.0


def single_identity(value: float) -> Any:
    return "NaN" if math.isnan(value) else struct.pack("<f", value + 0.0)


def text_identity(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def uuid_identity(value: Any) -> Any:
    if isinstance(value, bytes):
        return value if len(value) == 16 else odd(value)
    try:
        plain = value.replace("-", "")
        hyphens = len(value) == 32 or (
            len(value) == 36 and [i for i, c in enumerate(value) if c == "-"] == [8, 13, 18, 23]
        )
        return (
            bytes.fromhex(plain) if hyphens and len(plain) == 32 and plain.isascii() and plain.isalnum() else odd(value)
        )
    except ValueError:
        return odd(value)


def json_identity(value: Any) -> Any:
    try:
        return (
            "json",
            _json_value(
                json.loads(
                    value, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse, object_pairs_hook=_pairs
                )
            ),
        )
    except (ValueError, ArithmeticError):
        return odd(value)


def _refuse(word: str) -> None:
    raise ValueError(word)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return ("object", frozenset((name, _json_value(v)) for name, v in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(_json_value, value)))
    if isinstance(value, Decimal):
        return ("number", value.as_integer_ratio())
    return (type(value).__name__, value)


json_texts = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
).flatmap(
    lambda value: st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)])
)

uuids = st.uuids(allow_nil=True).flatmap(
    lambda u: st.sampled_from([str(u), str(u).upper(), u.hex, u.hex.upper(), "{" + str(u) + "}", str(u)[:-1]])
)
small = st.integers(-3, 3)

SORTS = (
    Sort(
        Kind(Form.BOOLEAN),
        ((pa.bool_(), st.booleans()), (pa.int64(), small)),
        lambda v: int(v) if v in (0, 1) else odd(v),
    ),
    Sort(
        Kind(Form.INTEGER),
        (
            (pa.int64(), st.integers(-(2**63), 2**63 - 1) | small),
            (pa.uint64(), st.integers(0, 2**64 - 1) | st.integers(0, 3)),
            (pa.bool_(), st.booleans()),
            (pa.string(), numerals | noise),
            (pa.decimal128(38, 1), st.decimals("-99999", "99999", places=1)),
        ),
        integer_identity,
    ),
    Sort(
        Kind(Form.DECIMAL, 2),
        (
            (pa.string(), numerals | noise),
            (pa.int64(), st.integers(-(2**63), 2**63 - 1) | small),
            (pa.decimal128(38, 3), st.decimals("-99999", "99999", places=3)),
        ),
        number_identity,
    ),
    Sort(
        Kind(Form.NUMBER),
        (
            (pa.string(), numerals | noise),
            (pa.int64(), st.integers(-(2**63), 2**63 - 1) | small),
            (pa.decimal128(38, 3), st.decimals("-99999", "99999", places=3)),
        ),
        number_identity,
    ),
    Sort(
        Kind(Form.FLOAT64), ((pa.float64(), st.floats()), (pa.string(), st.floats().map(repr) | noise)), float_identity
    ),
    Sort(Kind(Form.FLOAT32), ((pa.float32(), st.floats(width=32)),), single_identity),
    Sort(
        Kind(Form.TEXT),
        ((pa.string(), noise), (pa.large_binary(), st.binary(max_size=3) | noise.map(str.encode))),
        text_identity,
    ),
    Sort(
        Kind(Form.BYTES),
        ((pa.binary(), st.binary(max_size=3)), (pa.large_binary(), st.binary(max_size=3))),
        text_identity,
    ),
    Sort(
        Kind(Form.UUID),
        (
            (pa.string(), uuids | noise),
            (pa.binary(), st.binary(min_size=15, max_size=17)),
            (pa.binary(), st.binary(min_size=16, max_size=16)),
            (pa.binary(16), st.binary(min_size=16, max_size=16)),
        ),
        uuid_identity,
    ),
    Sort(Kind(Form.JSON), ((pa.string(), json_texts | noise),), json_identity),
)
"""Forms of moments are in test_moments."""

TOLERANT = tuple(
    Kind(Form.FLOAT64, tolerance=t) for t in (Tolerance(0.5), Tolerance(1e-10), Tolerance(0.01, relative=True))
)
