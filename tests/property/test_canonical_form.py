"""The canonical form keeps values apart, and digests add up however a table is cut."""

import math
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tieout.canonical.decode import decode
from tieout.canonical.fingerprint import digest, digests_by_bucket, fingerprints, records
from tieout.model.digests import EMPTY
from tieout.model.kinds import Form, Kind
from tieout.verify.bucketing import buckets_of, pack_buckets, unpack_buckets

INTEGERS = st.integers(-(2**63), 2**63 - 1)
COLUMNS = [
    (Kind(Form.INTEGER), pa.int64(), INTEGERS),
    (Kind(Form.TEXT), pa.large_string(), st.text(st.characters(exclude_categories=["Cs"]))),
    (Kind(Form.FLOAT64), pa.float64(), st.floats(allow_nan=True)),
    (Kind(Form.BYTES), pa.large_binary(), st.binary()),
    (Kind(Form.DECIMAL, 4), pa.decimal128(38, 4), st.decimals(-(10**9), 10**9, places=4)),
]
ROWS = st.lists(st.tuples(*(st.none() | values for _, _, values in COLUMNS)), max_size=30)


def fields(rows):
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    return [decode(kind, pa.array(list(v), wire)) for (kind, wire, _), v in zip(COLUMNS, columns, strict=True)]


def prints(rows):
    return fingerprints(fields(rows)) if rows else np.zeros((0, 2), dtype=np.uint64)


@given(ROWS, st.lists(st.integers(0, 30), max_size=5), st.randoms())
def test_digests_add_up_however_a_table_is_cut(rows, cuts, random):
    whole = digest(prints(rows))
    shuffled = rows[:]
    random.shuffle(shuffled)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [digest(prints(shuffled[a:b])) for a, b in pairwise(edges)]
    assert sum(parts, EMPTY) == whole
    if parts:
        assert whole - parts[0] == sum(parts[1:], EMPTY)


@given(ROWS, st.integers(0, 6))
def test_digests_by_bucket_add_up_to_the_whole(rows, power):
    own = prints(rows)
    found = digests_by_bucket(own, buckets_of(own, 1 << power))
    assert sum(found.values(), EMPTY) == digest(own)
    assert unpack_buckets(pack_buckets(found)) == found


def same(a, b):
    """Equal as the specification has it: NULL is NULL, NaN is NaN, and minus zero is zero."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return type(a) is type(b) and a == b


@given(ROWS, ROWS)
def test_records_are_equal_exactly_if_rows_are(some, others):
    rows = [*some, *others]
    if not rows:
        return
    written = [record.tobytes() for record in records(fields(rows))]
    for i, row in enumerate(rows):
        for j, other in enumerate(rows[:i]):
            assert (written[i] == written[j]) == all(map(same, row, other))


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


@given(INTEGERS)
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
