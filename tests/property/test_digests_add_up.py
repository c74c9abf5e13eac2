"""A table's digest is the sum of its parts', however it is cut, ordered or batched."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tieout.canonical.bucket_digests import add_buckets, buckets_of, pack_buckets, unpack_buckets
from tieout.canonical.decode import decode
from tieout.canonical.fields import Field
from tieout.canonical.fingerprint import digest, digests_by_bucket, fingerprints
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.digests import EMPTY, Digest
from tieout.verification.rows import key_hashes

rows = st.tuples(st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.text(max_size=5), st.none() | st.floats())
tables = st.lists(rows, max_size=30)
"""Three columns; rows may be there twice."""

digests = st.builds(Digest, st.integers(0, 2**63), st.integers(0, 2**128 - 1))


def fields_of(table: list[tuple[object, ...]]) -> list[Field]:
    columns = list(zip(*table, strict=True)) if table else [(), (), ()]
    types = (pa.int64(), pa.string(), pa.float64())
    kinds = (Kind(Form.INTEGER), Kind(Form.TEXT), Kind(Form.FLOAT64))
    return [decode(kind, pa.array(values, t)) for kind, values, t in zip(kinds, columns, types, strict=True)]


def digest_of(table: list[tuple[object, ...]]) -> Digest:
    return digest(fingerprints(fields_of(table))) if table else EMPTY


@given(tables, st.data())
def test_however_a_table_is_cut(table: list[tuple[object, ...]], data: st.DataObject) -> None:
    parts: dict[int, list[tuple[object, ...]]] = {}
    for row in table:
        parts.setdefault(data.draw(st.integers(0, 4)), []).append(row)

    assert sum(map(digest_of, parts.values()), EMPTY) == digest_of(table)


@given(tables, st.integers(1, 7), st.randoms())
def test_whatever_the_order_and_the_size_of_batches(table: list[tuple[object, ...]], size: int, random: object) -> None:
    shuffled = list(table)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    batches = [shuffled[start : start + size] for start in range(0, len(shuffled), size)]

    assert sum(map(digest_of, batches), EMPTY) == digest_of(table)


@given(tables, st.integers(0, 6))
def test_buckets_add_up(table: list[tuple[object, ...]], bits: int) -> None:
    fields = fields_of(table)
    prints = fingerprints(fields)
    buckets = digests_by_bucket(prints, buckets_of(key_hashes(fields, (0,), prints), 1 << bits))

    assert sum(buckets.values(), EMPTY) == digest_of(table)
    assert unpack_buckets(pack_buckets(buckets)) == buckets
    twice: dict[int, Digest] = {}
    for _ in range(2):
        add_buckets(twice, buckets)
    assert sum(twice.values(), EMPTY) == digest_of(table + table)


@given(tables, tables)
def test_equal_exactly_if_the_rows_are(one: list[tuple[object, ...]], other: list[tuple[object, ...]]) -> None:
    """As multisets: −0 is 0, and NaN is NaN."""
    assert (digest_of(one) == digest_of(other)) == (_multiset(one) == _multiset(other))


@given(digests, digests, digests)
def test_digests_are_a_group(a: Digest, b: Digest, c: Digest) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert (a + b) - b == a
    assert a + EMPTY == a
    assert Digest.from_text(a.to_text()) == a


def test_a_sum_of_many_does_not_overflow() -> None:
    highest = np.full((3, 2), 2**64 - 1, dtype=np.uint64)

    assert digest(highest) == Digest(3, 3 * (2**128 - 1) % 2**128)


def _multiset(table: list[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    return Counter((number, text, repr(float(x) + 0.0) if isinstance(x, float) else x) for number, text, x in table)
