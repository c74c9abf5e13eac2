"""Whether the entries of an index are in the order that the index promises: within each page, and from page to page.

Where numpy and Arrow compare as PostgreSQL does, they compare; for text under a collation, and whatever else is not
certain, the server compares, by the operator and the collation of the index.

A page is read whole, so what is wrong within it is wrong. Two pages are from two moments: what seems wrong between them
is rechecked, from the left page to the right one and back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tieout.canonical.decode import decode
from tieout.codecs.postgres_pages.spans import Places
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.check.exported_snapshot import cursor_at
from tieout.connectors.postgres.check.index_reader import BTree, Entries, IndexReader
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import Disorder, Values
from tieout.errors import ReadError
from tieout.model.tables import TableName
from tieout.model.truncated import LONGEST_IN_FAILURE

Signs = npt.NDArray[np.int8]

_DIALECT = PostgresDialect()
# The type that the operators are for, not a domain over it; by its name in the catalog, because format_type writes
# "character" for bpchar, which means character(1).
_KEYS = """
SELECT quote_ident(s.nspname), o.oprname, quote_ident(tn.nspname) || '.' || quote_ident(t.typname), t.typcollation <> 0,
  quote_ident(cn.nspname) || '.' || quote_ident(c.collname),
  p.opcdefault AND p.opcnamespace = 'pg_catalog'::regnamespace,
  c.collname IN ('C', 'POSIX') AND cn.nspname = 'pg_catalog'
    OR c.collname = 'default' AND d.datcollate IN ('C', 'POSIX')
    AND coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') = 'c',
  i.indoption[k.place - 1] & 1 <> 0, i.indoption[k.place - 1] & 2 <> 0
FROM pg_index i CROSS JOIN generate_series(1, i.indnkeyatts) AS k(place)
JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attnum = k.place
JOIN pg_opclass p ON p.oid = i.indclass[k.place - 1] JOIN pg_type c_type ON c_type.oid = p.opcintype
JOIN pg_type t ON t.oid = CASE WHEN c_type.typtype = 'p' THEN a.atttypid ELSE c_type.oid END
JOIN pg_namespace tn ON tn.oid = t.typnamespace
JOIN pg_amop x ON x.amopfamily = p.opcfamily AND x.amopstrategy = 1 AND x.amoplefttype = p.opcintype
  AND x.amoprighttype = p.opcintype
JOIN pg_operator o ON o.oid = x.amopopr JOIN pg_namespace s ON s.oid = o.oprnamespace
LEFT JOIN pg_collation c ON c.oid = i.indcollation[k.place - 1] LEFT JOIN pg_namespace cn ON cn.oid = c.collnamespace
CROSS JOIN (SELECT * FROM pg_database WHERE datname = current_database()) d
WHERE i.indexrelid = %s::regclass ORDER BY k.place"""
_VERSION = "SELECT version FROM {inspector}.bt_metap({name})"
_AMCHECK = """
SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'bt_index_check' AND p.pronargs = 1
WHERE e.extname = 'amcheck' AND has_function_privilege(p.oid, 'EXECUTE')"""
_BY_ADDRESS = 4
"""The first version of B-trees in which entries with the same key are in the order of their row addresses."""
_AT_ONCE = 20_000
_ALIKE = (
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_floating,
    pa.types.is_temporal,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """`less` is the operator that orders the index, under `collation`; `by_bytes`: the collation compares bytes."""

    less: str
    native: str
    collation: str | None
    is_usual: bool
    by_bytes: bool
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class KeyOrder:
    """`amcheck` is the schema of amcheck's functions; None if this user can't call them."""

    url: EndpointUrl
    columns: tuple[KeyColumn, ...]
    by_address: bool
    amcheck: str | None = None

    def is_sound(self, index: TableName) -> bool:
        """True if amcheck finds no disorder. It needs a tenth of the time that reading the pages takes.

        It reports only the first disorder, so if it finds one, we read the pages.
        """
        if self.amcheck is None:
            return False
        try:
            with cursor_at(self.url, None, {}, arrow=False) as cursor:
                cursor.execute(f"SELECT {self.amcheck}.bt_index_check(%s::regclass)", [_DIALECT.table(index)])
        except ReadError:
            return False
        return True

    def signs(self, left: pa.RecordBatch, right: pa.RecordBatch) -> Signs:
        """-1 where the left key comes first, 1 where the right one does, 0 where they are equal."""
        signs = np.zeros(left.num_rows, dtype=np.int8)
        for place, column in enumerate(self.columns):
            open_ = np.flatnonzero(signs == 0)
            if not len(open_):
                break
            taken = pa.array(open_)
            signs[open_] = self._column(column, left.column(place).take(taken), right.column(place).take(taken))
        return signs

    def _column(self, column: KeyColumn, left: pa.Array, right: pa.Array) -> Signs:
        no_left, no_right = (np.asarray(each.is_null()) for each in (left, right))
        null_first = -1 if column.nulls_first else 1
        signs = np.where(no_left & ~no_right, null_first, np.where(no_right & ~no_left, -null_first, 0)).astype(np.int8)
        both = np.flatnonzero(~no_left & ~no_right)
        taken = pa.array(both)
        found = self._values(column, _plain(left.take(taken)), _plain(right.take(taken)))
        signs[both] = -found if column.descending else found
        return signs

    def _values(self, column: KeyColumn, left: pa.Array, right: pa.Array) -> Signs:
        as_text = pa.types.is_string(left.type) or pa.types.is_large_string(left.type)
        is_alike = column.collation is None and any(alike(left.type) for alike in _ALIKE)
        if column.is_usual and left.type == right.type and (is_alike or (as_text and column.by_bytes)):
            return _compared(left, right)
        if not as_text and column.collation is not None:
            raise ReadError("its text is not valid in the database's encoding", "rebuild the index with REINDEX")
        return self._compared_by_server(
            column, [str(each) for each in left.to_pylist()], [str(each) for each in right.to_pylist()]
        )

    def _compared_by_server(self, column: KeyColumn, left: list[str], right: list[str]) -> Signs:
        signs = np.zeros(len(left), dtype=np.int8)
        unlike = [place for place, (a, b) in enumerate(zip(left, right, strict=True)) if a != b]
        collated = f" COLLATE {column.collation}" if column.collation else ""
        a, b = (f"({side}::{column.native}{collated})" for side in "ab")
        statement = (
            f"SELECT CASE WHEN {a} {column.less} {b} THEN -1 WHEN {b} {column.less} {a} THEN 1 ELSE 0 END "
            "FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS pairs(a, b, place) ORDER BY place"
        )
        for first in range(0, len(unlike), _AT_ONCE):
            some = unlike[first : first + _AT_ONCE]
            with cursor_at(self.url, None, {}, arrow=False) as cursor:
                sides = [[side[place] for place in some] for side in (left, right)]
                cursor.execute(statement, sides)
                signs[some] = [sign for (sign,) in cursor.fetchall()]
        return signs


def key_order(url: EndpointUrl, tree: BTree) -> KeyOrder:
    name = _DIALECT.table(tree.name)
    with cursor_at(url, None, {}, arrow=False) as cursor:
        columns = [_key(*row) for row in cursor.execute(_KEYS, [name]).fetchall()]
        version = _VERSION.format(inspector=_DIALECT.quote(tree.inspector), name="%s")
        ((number,),) = cursor.execute(version, [name]).fetchall()
        amcheck = [schema for (schema,) in cursor.execute(_AMCHECK).fetchall()]
    if len(columns) != tree.keys:
        raise ReadError(f"the catalog does not say how {tree.name} is ordered")
    return KeyOrder(url, tuple(columns), number >= _BY_ADDRESS, amcheck[0] if amcheck else None)


def _key(*row: Any) -> KeyColumn:
    schema, operator, native, collatable, collation, usual, by_bytes, descending, nulls_first = row
    return KeyColumn(
        f"OPERATOR({schema}.{operator})",
        native,
        collation if collatable else None,
        usual,
        bool(by_bytes),
        descending,
        nulls_first,
    )


def _plain(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _compared(left: pa.Array, right: pa.Array) -> Signs:
    less, greater = np.asarray(pc.less(left, right)), np.asarray(pc.greater(left, right))
    if pa.types.is_floating(left.type):
        # NaN equals itself, and is greater than everything else.
        a, b = (np.isnan(each.to_numpy(zero_copy_only=False)) for each in (left, right))
        less, greater = less | ~a & b, greater | a & ~b
    return greater.astype(np.int8) - less.astype(np.int8)


@dataclass(frozen=True)
class Ends:
    """The first and the last entry of some leaf pages: two rows of `values` for each block."""

    blocks: Places
    right: dict[int, int]
    addresses: Places
    items: Places
    values: pa.RecordBatch


@dataclass(frozen=True)
class PageOrder:
    reader: IndexReader
    tree: BTree
    order: KeyOrder
    columns: tuple[ScanColumn, ...]

    def read(self, first: int, last: int) -> tuple[list[Disorder], list[Ends]]:
        """Disorders within the pages of [first, last), and the first and last entries of the pages."""
        wrong: list[Disorder] = []
        ends = []
        for entries in self.reader.entries(self.tree, first, last):
            if len(entries):
                wrong += self._within(entries)
            ends.append(_ends(entries))
        return wrong, ends

    def between(self, ends: Sequence[Ends]) -> list[Disorder]:
        """Disorders from page to page."""
        if not ends:
            return []
        right = dict(chain.from_iterable(each.right.items() for each in ends))
        known = pa.Table.from_batches([each.values for each in ends]).combine_chunks()
        blocks, addresses, items = (
            np.concatenate([getattr(each, name) for each in ends]) for name in ("blocks", "addresses", "items")
        )
        place = {int(block): 2 * number for number, block in enumerate(blocks)}
        pairs = [(place[a] + 1, place[b]) for a, b in _neighbours(right, place)]
        if not pairs:
            return []
        entries = _Known(np.repeat(blocks, 2), items, addresses, known.to_batches()[0])
        return self._wrong(entries, *np.array(pairs, dtype=np.int64).T)

    def again(self, suspects: Sequence[Disorder]) -> list[Disorder]:
        """Disorders in the pages of the suspects now, each pair once. The pairs may differ: entries come in between."""
        blocks = sorted({each.page for each in suspects})
        return list(dict.fromkeys(chain.from_iterable(self._around(block) for block in blocks)))

    def _around(self, block: int) -> Iterator[Disorder]:
        """Disorders within a page, and between it and the next page that has entries."""
        within, ends = self.read(block, block + 1)
        yield from within
        found, at = list(ends), block
        while found and (following := found[-1].right.get(at, 0)):
            more = self.read(following, following + 1)[1]
            if not more or following not in more[0].right:
                return  # deleted meanwhile
            found, at = [*found, *more], following
            if len(more[0].blocks):
                break
        unmoved = [each.right for each in self.read(block, block + 1)[1]] == [each.right for each in ends]
        if unmoved:
            yield from self.between(found)

    def _within(self, entries: Entries) -> list[Disorder]:
        left = np.flatnonzero(entries.blocks[1:] == entries.blocks[:-1])
        known = _Known(entries.blocks, entries.items, entries.addresses, entries.values)
        return self._wrong(known, left, left + 1)

    def _wrong(self, entries: _Known, left: Places, right: Places) -> list[Disorder]:
        signs = self.order.signs(entries.values.take(pa.array(left)), entries.values.take(pa.array(right)))
        wrong = signs > 0
        if self.order.by_address:
            wrong |= (signs == 0) & (entries.addresses[left] > entries.addresses[right])
        return [self._disorder(entries, int(left[each]), int(right[each])) for each in np.flatnonzero(wrong)]

    def _disorder(self, entries: _Known, left: int, right: int) -> Disorder:
        places = [f"block {entries.blocks[each]}, item {entries.items[each]}" for each in (left, right)]
        first, second = self._texts(entries, left), self._texts(entries, right)
        return Disorder(first, second, " before ".join(places), int(entries.blocks[left]))

    def _texts(self, entries: _Known, place: int) -> Values:
        row = entries.values.slice(place, 1)
        return tuple(
            decode(column.kind, row.column(number)).kept(0, LONGEST_IN_FAILURE)
            for number, column in enumerate(self.columns)
        )


@dataclass(frozen=True)
class _Known:
    blocks: Places
    items: Places
    addresses: Places
    values: pa.RecordBatch


def _ends(entries: Entries) -> Ends:
    right = dict(zip(entries.pages.blocks.tolist(), entries.pages.right.tolist(), strict=True))
    blocks, first = np.unique(entries.blocks, return_index=True)
    last = np.append(first[1:], len(entries)) - 1 if len(first) else first
    both = np.stack([first, last], axis=1).reshape(-1)
    return Ends(blocks, right, entries.addresses[both], entries.items[both], entries.values.take(pa.array(both)))


def _neighbours(right: dict[int, int], known: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Yields pages that have entries, each with the next one that has."""
    for block in known:
        following, steps = right.get(block, 0), 0
        while following and following not in known and steps < len(right):
            following, steps = right.get(following, 0), steps + 1
        if following in known and following != block:
            yield block, following
