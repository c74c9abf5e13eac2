"""Decodes the values of an index's tuples, attribute by attribute, for all tuples at once.

An attribute begins after the previous one, at the next offset that its type's alignment allows; NULLs take no room. So
there is an offset in each tuple, which moves on by one attribute at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tieout.codecs.postgres_pages.btree_pages import Tuples
from tieout.codecs.postgres_pages.spans import Flags, Places, Spans, ensure, naming_block
from tieout.codecs.postgres_pages.values import Attribute, decoder, undecodable
from tieout.codecs.postgres_pages.varlena import aligned, terminated, varying

_C_STRING = -2


def decode(index: str, tuples: Tuples, attributes: Sequence[Attribute]) -> pa.RecordBatch:
    """A row for each tuple, without undecodable attributes. Infinite moments and days wrap around.

    Raises ReadError with the index and the block of a corrupt tuple.
    """
    at = tuples.starts.copy()
    columns = {}
    for place, attribute in enumerate(attributes):
        present = tuples.present >> np.uint32(place) & 1 != 0
        rows = slice(None) if present.all() else np.flatnonzero(present)
        with naming_block(index, tuples.blocks[rows]):
            spans, at[rows] = _spans(attribute, Spans(tuples.octets, at[rows], tuples.ends[rows] - at[rows]))
            if undecodable(attribute) is None:
                values = decoder(attribute)(spans)
                columns[attribute.name] = values if isinstance(rows, slice) else _with_nulls(values, present)
    return pa.RecordBatch.from_pydict(columns)


def _spans(attribute: Attribute, rest: Spans) -> tuple[Spans, Places]:
    """The values of an attribute, and the offsets after them, from the rest of each tuple."""
    if attribute.length == _C_STRING:
        found = terminated(rest)
        return found, found.starts + found.lengths + 1
    if attribute.length < 0:
        return varying(rest, attribute.alignment)
    starts = aligned(rest.starts, attribute.alignment)
    after = starts + attribute.length
    ensure(after <= rest.starts + rest.lengths, "a value reaches beyond its tuple")
    return Spans(rest.octets, starts, after - starts), after


def _with_nulls(values: pa.Array, present: Flags) -> pa.Array:
    return values.take(pa.array(np.cumsum(present) - 1, mask=~present))
