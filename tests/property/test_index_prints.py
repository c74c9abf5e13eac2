"""Fingerprints of rows and entries: equal exactly if address and values are, wherever they were read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.values import SORTS, Sort, Wire
from tieout.canonical.decode import decode
from tieout.canonical.fields import Field
from tieout.canonical.hashing import Words
from tieout.checks.indexes.index_fingerprints import _AT_ONCE, BatchPrints, Tally
from tieout.model.canonical_kinds import Form, Kind

KINDS = (Kind(Form.INTEGER), Kind(Form.TEXT), Kind(Form.TEXT), Kind(Form.DECIMAL, 2))
TYPES = (pa.int64(), pa.string(), pa.string(), pa.decimal128(10, 2))
integers = st.none() | st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
texts = st.none() | st.text("ab", max_size=3) | st.sampled_from(["\0", "0", "NULL"])
decimals = st.none() | st.decimals(-9, 9, places=2)
rows = st.tuples(integers, texts, texts, decimals)


def address_of(numbers: list[int]) -> Field:
    return decode(Kind(Form.INTEGER), pa.array(numbers, pa.int64()))


def fields_of(table: list[tuple[Any, ...]]) -> list[Field]:
    columns = zip(*table, strict=True)
    return [decode(kind, pa.array(values, t)) for kind, values, t in zip(KINDS, columns, TYPES, strict=True)]


def field(kind: Kind, wire: Wire | None) -> Field:
    value, arrow_type = wire if wire is not None else (None, pa.string())
    return decode(kind, pa.array([value], arrow_type))


def all_of(address: list[Field], fields: list[Field]) -> Words:
    return BatchPrints(address, fields).of(range(len(fields)))


def lanes_alike(one: Words, other: Words) -> list[bool]:
    return (one == other).all(axis=0).tolist()


@pytest.mark.parametrize("sort", SORTS, ids=str)
@given(data=st.data())
def test_values_of_every_sort_are_equal_exactly_if_both_lanes_are(sort: Sort, data: st.DataObject) -> None:
    """Each of the lanes by itself: what only one of them saw would have half the bits."""
    one, other = data.draw(st.none() | sort.values), data.draw(st.none() | sort.values)
    same = one is other if one is None or other is None else sort.identity(one[0]) == sort.identity(other[0])

    found = [all_of([address_of([7])], [field(sort.kind, wire)]) for wire in (one, other)]

    assert lanes_alike(*found) == [same, same]


@pytest.mark.parametrize("sort", SORTS, ids=str)
@given(data=st.data())
def test_a_value_does_not_depend_on_the_others_in_its_batch(sort: Sort, data: st.DataObject) -> None:
    arrow_type, values = data.draw(st.sampled_from(sort.wires))
    batch = data.draw(st.lists(st.none() | values, min_size=1, max_size=5))
    start = data.draw(st.integers(0, len(batch) - 1))
    array = pa.array(batch, arrow_type)

    whole = all_of([], [decode(sort.kind, array)])

    part = all_of([], [decode(sort.kind, array.slice(start))])
    assert lanes_alike(whole[start:], part) == [True, True]


@given(st.tuples(st.integers(0, 9), rows), st.tuples(st.integers(0, 9), rows), st.permutations(range(4)))
def test_rows_are_equal_exactly_if_their_prints_are(one: Any, other: Any, order: list[int]) -> None:
    """Text that moves from one column into the next, NULL beside empty text and zero, columns in another order."""
    found = [BatchPrints([address_of([a])], fields_of([row])).of(order) for a, row in (one, other)]

    assert lanes_alike(*found) == [one == other] * 2


@given(rows)
def test_the_order_of_columns_counts(row: tuple[Any, ...]) -> None:
    prints = BatchPrints([address_of([1])], fields_of([row]))
    same = row[1] == row[2]

    assert lanes_alike(prints.of([0, 1, 2, 3]), prints.of([0, 2, 1, 3])) == [same] * 2
    assert lanes_alike(prints.of([1, 2]), prints.of([2, 1])) == [same] * 2


@given(st.lists(rows, min_size=1, max_size=9), st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(1, 9))
def test_an_index_by_itself_has_the_prints_of_its_table(table: Any, columns: list[int], size: int) -> None:
    """Of the table many columns are read at once, of the index its own, in batches of another size."""
    numbers = list(range(len(table)))
    whole = BatchPrints([address_of(numbers)], fields_of(table))
    whole.of([0, 1, 2, 3])
    expected = whole.of(columns)

    for start in range(0, len(table), size):
        fields = fields_of(table[start : start + size])
        own = all_of([address_of(numbers[start : start + size])], [fields[place] for place in columns])
        assert lanes_alike(expected[start : start + size], own) == [True, True]


def test_values_exchanged_between_rows_are_seen_by_each_lane() -> None:
    """Among them those that are the rows' own addresses: what is taken in twice must not go out again."""
    addresses, count = np.arange(1, 2001), 2000
    for values in (addresses, addresses % 7, addresses << 16):
        exchanged = values.reshape(-1, 2)[:, ::-1].reshape(-1)
        found = []
        for column in (values, exchanged):
            prints = all_of([address_of(addresses.tolist())], [address_of(column.tolist())])
            tally = Tally.empty(1)
            tally.take(prints, np.zeros(count, dtype=np.uint32))
            found.append(tally.sums[:, 0])
        assert (found[0] != found[1]).all()


def test_neighbours_come_out_as_if_by_chance() -> None:
    """Any 16 bits of fingerprints of addresses and values that count up: as many collisions as random ones have."""
    count = 1 << 14
    addresses, values = np.divmod(np.arange(count), 1 << 7)
    prints = all_of([address_of(addresses.tolist())], [address_of(values.tolist())])
    expected = 2**16 * (1 - np.exp(-count / 2**16))
    for lane in range(2):
        assert len(np.unique(prints[:, lane])) == count
        for shift in (0, 16, 32, 48):
            found = np.unique(prints[:, lane] >> np.uint64(shift) & np.uint64(0xFFFF))
            assert abs(len(found) - expected) < 400


def test_a_batch_of_many_rows_is_as_its_parts() -> None:
    """More of them than are mixed at once."""
    numbers = list(range(3 * _AT_ONCE + 5))
    whole = all_of([address_of(numbers)], [address_of(numbers)])
    cut = _AT_ONCE + 7
    parts = [all_of([address_of(part)], [address_of(part)]) for part in (numbers[:cut], numbers[cut:])]
    assert lanes_alike(whole, np.concatenate(parts)) == [True, True]
