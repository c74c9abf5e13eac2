"""Under a tolerance: one cell means close, and the comparison of rows has the last word."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tieout.canonical.decode import decode
from tieout.canonical.fingerprint import records
from tieout.canonical.numbers import within
from tieout.model.canonical_kinds import Form, Kind, Tolerance

TOLERANCES = [
    Tolerance(0.5),
    Tolerance(1e-10),
    Tolerance(1e6),
    Tolerance(0.01, relative=True),
    Tolerance(1e-12, relative=True),
]

numbers = st.one_of(
    st.floats().map(lambda x: (x, pa.float64())),
    st.integers(-(2**63), 2**63 - 1).map(lambda x: (x, pa.int64())),
    st.integers(0, 2**64 - 1).map(lambda x: (x, pa.uint64())),
    st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-(10**25), max_value=10**25).map(
        lambda x: (str(x), pa.string())
    ),
)
Wire = tuple[float | int | str, pa.DataType]


def cell(tolerance: Tolerance, wire: Wire) -> tuple[bytes, str | None]:
    field = decode(Kind(Form.FLOAT64, tolerance=tolerance), pa.array([wire[0]], wire[1]))
    return bytes(records([field])[0].tobytes()), field.text(0)


@pytest.mark.parametrize("tolerance", TOLERANCES, ids=str)
@given(one=numbers, other=numbers, nudge=st.floats(0, 3))
@example(one=(2**60, pa.int64()), other=(2**60 + 100, pa.int64()), nudge=0.0)
@example(one=(1e6, pa.float64()), other=(1e-4, pa.float64()), nudge=0.0)
@example(one=("100000000000000000000.001", pa.string()), other=("100000000000000000000.9", pa.string()), nudge=0.0)
@example(one=("1e400", pa.string()), other=("2e400", pa.string()), nudge=0.0)
@example(one=("1e-400", pa.string()), other=("2e-400", pa.string()), nudge=0.0)
def test_numbers_in_one_cell_are_close(tolerance: Tolerance, one: Wire, other: Wire, nudge: float) -> None:
    pairs = [(one, other)]
    if isinstance(one[0], float):
        scale = abs(one[0]) if tolerance.relative else 1.0
        pairs.append((one, (one[0] + nudge * tolerance.amount * scale, pa.float64())))
    for a, b in pairs:
        (left, left_text), (right, right_text) = cell(tolerance, a), cell(tolerance, b)
        if left == right:
            # The grid is cut with doubles: at the border of a cell, one rounding further apart.
            wider = Tolerance(tolerance.amount * (2 if not tolerance.relative else 1.0001), tolerance.relative)
            assert within(str(left_text), str(right_text), wider)


@pytest.mark.parametrize("tolerance", TOLERANCES, ids=str)
@given(wire=numbers)
def test_a_number_is_close_to_itself(tolerance: Tolerance, wire: Wire) -> None:
    (record, text), again = cell(tolerance, wire), cell(tolerance, wire)

    assert (record, text) == again
    assert within(str(text), str(text), tolerance)


@given(st.decimals("-1e9", "1e9", places=4), st.decimals("0.0001", "10", places=4))
def test_just_inside_and_just_outside(value: Decimal, amount: Decimal) -> None:
    assume(amount > 0)
    tolerance = Tolerance(float(amount))

    assert within(str(value), str(value + amount), tolerance)
    assert within(str(value), str(value - amount), tolerance)
    assert not within(str(value), str(value + amount + Decimal("0.00001")), tolerance)
    assert not within(str(value), str(value - amount - Decimal("0.00001")), tolerance)


@pytest.mark.parametrize(
    ("a", "b", "close"),
    [
        ("NaN", "NaN", True),
        ("Infinity", "Infinity", True),
        ("Infinity", "-Infinity", False),
        ("Infinity", "1e308", False),
        ("NaN", "0", False),
        ("abc", "abc", True),
        ("abc", "abd", False),
        ("abc", "0", False),
        ("-0.1", "0.1", True),
    ],
)
def test_words_are_close_to_themselves_alone(a: str, b: str, close: bool) -> None:
    assert within(a, b, Tolerance(0.5)) is close
