"""Booleans, integers, decimals and floats."""

from __future__ import annotations

import re
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tieout.canonical.fields import (
    ODD,
    Field,
    as_binary,
    is_bytes,
    is_textual,
    joined,
    odd_text,
    python_text,
    status_of,
    to_numpy,
)
from tieout.model.canonical_kinds import MAX_DECIMAL_DIGITS, Kind, Tolerance

_NUMERAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WORDS = {"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"}

_LONGEST_PLAIN = MAX_DECIMAL_DIGITS + len("-.")

_EXACT = Context(prec=200)

INTEGER_LAYOUT = np.dtype([("sign", "u1"), ("value", "<u8")])
"""The sign extended to a ninth byte (0 or 255), so that -1 is not 2^64-1."""


def boolean(kind: Kind, array: pa.Array) -> Field:
    status = status_of(array)
    odd: dict[int, str] = {}
    if not pa.types.is_boolean(array.type):
        # SQLite stores booleans as 0 and 1 (as text, beside other text); anything else is not a boolean.
        texts = [None if v is None else odd_text(v) for v in array.to_pylist()]
        odd = {row: text for row, text in enumerate(texts) if text not in (None, "0", "1")}
        status[list(odd)] = ODD
        array = pa.array([None if row in odd or text is None else text == "1" for row, text in enumerate(texts)])
    data = to_numpy(array.cast(pa.uint8()), "u1")
    return Field(status, data, None, lambda row: "true" if data[row] else "false", odd)


def integer(kind: Kind, array: pa.Array) -> Field:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    if not pa.types.is_integer(array.type):
        return _integers_one_by_one(array)
    data = np.zeros(len(array), dtype=INTEGER_LAYOUT)
    if pa.types.is_unsigned_integer(array.type):
        data["value"] = to_numpy(array, "<u8")
    else:
        signed = to_numpy(array, "<i8")
        data["value"] = signed.view("<u8")
        data["sign"] = np.where(signed < 0, 255, 0)
    return Field(status_of(array), data, None, lambda row: str(_integer_at(data, row)))


def _integer_at(data: npt.NDArray[np.void], row: int) -> int:
    value = int(data["value"][row])
    return value - (1 << 64) if data["sign"][row] else value


def _integers_one_by_one(array: pa.Array) -> Field:
    """Integers that arrived as text or decimals: those beyond 64 bits are odd, and so is whatever is not an integer."""
    status, data, odd = status_of(array), np.zeros(len(array), dtype=INTEGER_LAYOUT), {}
    for row, value in enumerate(array.to_pylist()):
        if value is None:
            continue
        exact = _exact_integer(value)
        if exact is None or not -(1 << 63) <= exact < 1 << 64:
            status[row], odd[row] = ODD, odd_text(value) if exact is None else str(exact)
        else:
            data[row] = (255 if exact < 0 else 0, exact % (1 << 64))
    return Field(status, data, None, lambda row: str(_integer_at(data, row)), odd)


def _exact_integer(value: object) -> int | None:
    number = _as_decimal(odd_text(value))
    if number is None or not number.is_finite() or number != number.to_integral_value():
        return None
    return int(number)


def _as_decimal(text: str) -> Decimal | None:
    """A number as an engine writes it. Python by itself would also take 1_000, and the digits of any script."""
    return Decimal(text) if _NUMERAL.fullmatch(text) or text in _WORDS else None


def decimal(kind: Kind, array: pa.Array) -> Field:
    """At most 38 digits at the kind's scale, as a 128-bit unscaled integer."""
    target = pa.decimal128(MAX_DECIMAL_DIGITS, kind.scale)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    odd: dict[int, str] = {}
    status = status_of(array)
    try:
        values = _plain_decimals(array).cast(target)
    except pa.ArrowInvalid:
        values, odd = _decimals_one_by_one(array, target)
        status[list(odd)] = ODD
    data = np.frombuffer(values.buffers()[1], dtype="V16")[values.offset : values.offset + len(values)]
    return Field(status, data, None, lambda row: plain_number(str(values[row].as_py())), odd)


def _plain_decimals(array: pa.Array) -> pa.Array:
    """Numbers that Arrow itself reads exactly. It misreads text with an exponent, or with hundreds of digits."""
    if not (is_textual(array) or is_bytes(array)):
        return array
    texts = array.cast(pa.large_string())
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if longest > _LONGEST_PLAIN or joined(texts).translate(None, b"-.0123456789"):
        raise pa.ArrowInvalid("not all of them are plain")
    return texts


def _decimals_one_by_one(array: pa.Array, target: pa.DataType) -> tuple[pa.Array, dict[int, str]]:
    """Decimals, some of which are not numbers (NaN, infinity) or are beyond the declared size."""
    odd: dict[int, str] = {}
    result: list[Decimal | None] = []
    for row, value in enumerate(array.to_pylist()):
        result.append(None)
        if value is None:
            continue
        text = odd_text(value)
        number = _as_decimal(text)
        if number is not None and number.is_finite():
            unscaled = number.scaleb(target.scale, _EXACT)
            if unscaled == unscaled.to_integral_value() and abs(unscaled) < 10**MAX_DECIMAL_DIGITS:
                result[row] = Decimal(int(unscaled)).scaleb(-target.scale, _EXACT)
        if result[row] is None:
            odd[row] = plain_number(text)
    return pa.array(result, target), odd


def number(kind: Kind, array: pa.Array) -> Field:
    """Decimal text without sign of zero, exponent, leading or trailing zeros; NaN and ±Infinity as such."""
    import polars as pl

    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    try:
        s = pl.Series(array.cast(pa.large_string()), dtype=pl.String)
    except pa.ArrowInvalid:  # some of it is not UTF-8
        values = pa.array([None if v is None else _plain_bytes(v) for v in array.to_pylist()], pa.large_binary())
        return Field(status_of(values), None, values, lambda row: python_text(values[row].as_py()))
    if s.str.contains(r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$").all():
        v = pl.col("v")
        trimmed = pl.when(v.str.contains(".", literal=True)).then(v.str.strip_chars_end("0").str.strip_chars_end("."))
        plain = pl.DataFrame({"v": s}).select(trimmed.otherwise(v)).to_series().replace("-0", "0")
    else:
        plain = s.map_elements(plain_number, return_dtype=pl.String)
    values = as_binary(plain.to_arrow())
    return Field(status_of(values), None, values, lambda row: str(values[row].as_py().decode()))


def _plain_bytes(raw: bytes) -> bytes:
    return plain_number(raw.decode("ascii")).encode() if raw.isascii() else raw


def plain_number(text: str) -> str:
    """The canonical text of a decimal: 1.50 is 1.5, 1E+2 is 100, -0.0 is 0; words stay as they are."""
    value = _as_decimal(text)
    if value is None:
        return text
    if value.is_nan():
        return "NaN"
    if value.is_infinite():
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    plain = format(value, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def float64(kind: Kind, array: pa.Array) -> Field:
    return _floats(array, "<f8", kind.tolerance)


def float32(kind: Kind, array: pa.Array) -> Field:
    return _floats(array, "<f4", None)


def _floats(array: pa.Array, dtype: str, tolerance: Tolerance | None) -> Field:
    """IEEE bits, with one zero and one NaN; under a tolerance, the cell of a grid of that width."""
    odd: dict[int, str] = {}
    status = status_of(array)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    original = array
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.string())
    if is_textual(array) or is_bytes(array):
        array, odd = _floats_one_by_one(array)
        status[list(odd)] = ODD
    exact = to_numpy(array, dtype) + np.zeros((), dtype)  # -0.0 + 0.0 is 0.0
    exact[np.isnan(exact)] = np.nan
    shown = exact

    def show(row: int) -> str:
        value = shown[row]
        if np.isnan(value):
            return "NaN"
        if np.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return repr(float(value)) if dtype == "<f8" else str(np.float32(value))

    if tolerance is None:
        return Field(status, exact, None, show, odd)
    cells = _cells(exact, tolerance)
    if pa.types.is_floating(original.type):
        return Field(status, cells, None, show, odd)
    odd |= _finer_than_doubles(original, exact, cells)
    status[list(odd)] = ODD
    return Field(status, cells, None, lambda row: plain_number(odd_text(original[row].as_py())), odd)


def _finer_than_doubles(
    array: pa.Array, doubles: npt.NDArray[np.floating], cells: npt.NDArray[np.void]
) -> dict[int, str]:
    """Integers and decimals that are their own cell and no double: adjacent ones would share a cell."""
    odd: dict[int, str] = {}
    for row in np.flatnonzero(cells["sort"] == OWN):
        text = plain_number(odd_text(array[row].as_py()))
        number = _as_decimal(text)
        if number is not None and not number.is_nan() and number != Decimal(float(doubles[row])):
            odd[int(row)] = text
    return odd


def _floats_one_by_one(array: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    odd: dict[int, str] = {}
    result: list[float | None] = []
    for row, value in enumerate(array.to_pylist()):
        result.append(None)
        if value is None:
            continue
        text = odd_text(value)
        if _as_decimal(text) is None:
            odd[row] = text
        else:
            result[row] = float(text)
    return pa.array(result, pa.float64()), odd


CELL_LAYOUT = np.dtype([("sort", "i1"), ("cell", "<f8")])
"""Cells of different kinds never meet: a relative cell has the number's sign, an absolute one GRID, and a number that
is its own cell OWN.
"""

GRID, OWN = 2, 3


def _cells(exact: npt.NDArray[np.floating], tolerance: Tolerance) -> npt.NDArray[np.void]:
    """Numbers in one cell are within the tolerance; numbers in adjacent cells are compared row by row."""
    result = np.zeros(len(exact), dtype=CELL_LAYOUT)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if tolerance.relative:
            cell = np.floor(np.log(np.abs(exact)) / np.log1p(tolerance.amount))
            sort = np.nan_to_num(np.sign(exact)).astype(np.int8)
        else:
            cell = np.floor(exact / tolerance.amount)
            sort = np.full(len(exact), GRID, dtype=np.int8)
        # Beyond 2^53 cells the grid is finer than a double can count: the value is its own cell.
        counted = np.abs(cell) < 2.0**53
    result["sort"] = np.where(counted, sort, OWN)
    result["cell"] = np.where(counted, cell, exact) + 0.0
    result["cell"][np.isnan(result["cell"])] = np.nan
    return result


def within(a: str | None, b: str | None, tolerance: Tolerance) -> bool:
    """True if two numbers in canonical text are equal under a tolerance (NaN equals NaN, NULL only NULL)."""
    if a == b or a is None or b is None:
        return a == b
    left, right = _as_decimal(a), _as_decimal(b)
    if left is None or right is None or not (left.is_finite() and right.is_finite()):
        return False
    amount = Decimal(repr(tolerance.amount))
    if tolerance.relative:
        amount = _EXACT.multiply(amount, max(abs(left), abs(right)))
    return abs(_EXACT.subtract(left, right)) <= amount
