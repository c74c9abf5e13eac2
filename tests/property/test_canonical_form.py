"""One value has one form, whatever it came as, and does not run into its neighbour's."""

from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tieout.canonical.decode import decode
from tieout.canonical.fingerprint import records
from tieout.model.canonical_kinds import Form, Kind


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.text(max_size=5))
def test_text_can_not_move_to_its_neighbour(a, b):
    kind = Kind(Form.TEXT)

    def row(left, right):
        arrays = [pa.array([value], pa.large_string()) for value in (left, right)]
        return records([decode(kind, array) for array in arrays])[0].tobytes()

    b = b.encode("utf-8", "ignore").decode()
    whole = a + b
    for cut in range(len(whole) + 1):
        left, right = whole[:cut], whole[cut:]
        assert (row(left, right) == row(a, b)) == ((left, right) == (a, b))
    assert row(None, whole) != row("", whole)
    assert row(whole, None) != row(None, whole)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_number_is_the_same_whatever_it_came_as(value):
    kind = Kind(Form.INTEGER)
    wires = [pa.array([value], pa.int64()), pa.array([str(value)]), pa.array([Decimal(value)])]
    if value >= 0:
        wires.append(pa.array([value], pa.uint64()))
    assert len({records([decode(kind, wire)])[0].tobytes() for wire in wires}) == 1


@given(st.decimals(-(10**20), 10**20, allow_nan=False), st.integers(0, 5))
def test_a_decimal_is_its_value_and_not_its_scale(value, zeros):
    text = format(value, "f")
    padded = (text if "." in text else text + ".") + "0" * zeros
    kind = Kind(Form.NUMBER)
    one, other = (decode(kind, pa.array([t])) for t in (text, padded.rstrip(".")))
    assert one.text(0) == other.text(0)
    assert records([one])[0].tobytes() == records([other])[0].tobytes()
    assert Decimal(one.text(0)) == value
