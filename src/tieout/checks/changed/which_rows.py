"""Which rows of a table to check again: the rows that its log says have changed, by key; or all, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tieout.connectors.protocols.check import ChangedRow, Checker, IndexInfo, Literals
from tieout.model.row_changes import KEPT, ChangeKind, Emptied, Image, LogItem, Rows, Statement
from tieout.model.tables import Column, Table, TableName

Texts = dict[str, str | None]
"""Canonical text by column."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which columns of old rows to keep: columns of indexes, and columns that other rows refer to."""

    indexed: frozenset[str] = frozenset()
    referred_to: frozenset[str] = frozenset()


MOST_ROWS = 200_000
"""Changed rows of one table to look up. Beyond that, or beyond a fifth of the table, it is faster to read all rows."""
_ALWAYS = 1_000


@dataclass
class ChangedTable:
    """The changed rows of a table. `changes` counts row changes; `whole` is why all rows must be read, if they must."""

    table: Table
    changes: int = 0
    whole: str | None = None
    _images: dict[Literals, dict[tuple[tuple[str, str], ...], None]] = field(default_factory=dict)
    _there: dict[Literals, bool] = field(default_factory=dict)
    _keys: dict[Literals, tuple[str | None, ...]] = field(default_factory=dict)
    _left: list[Texts] = field(default_factory=list)

    def keys(self) -> list[tuple[str, ...]]:
        """The keys as canonical text."""
        return [tuple(part for part in key if part is not None) for key in self._keys.values()]

    def left(self, columns: Sequence[str]) -> list[tuple[str, ...]] | None:
        """The earlier values in these columns, which may be gone; None if some of them are unknown."""
        if not all(column in texts for texts in self._left for column in columns):
            return None
        values = (tuple(texts[column] for column in columns) for texts in self._left)
        return list(dict.fromkeys(tuple(v for v in value if v is not None) for value in values if None not in value))

    def note(self, key: Literals, before: Mapping[str, str] | None, *, there: bool) -> None:
        """Notes a change. `before`: the row's earlier values, if it existed, without unknown columns."""
        images = self._images.setdefault(key, {})
        if before is not None:
            images[tuple(before.items())] = None
        self._there[key] = there

    def rows(self) -> list[ChangedRow]:
        return [ChangedRow(key, tuple(map(dict, images)), self._there[key]) for key, images in self._images.items()]

    def gone(self) -> set[Literals]:
        """The keys of rows that the log says were deleted."""
        return {key for key, there in self._there.items() if not there}

    @property
    def most(self) -> int:
        """How many rows to look up at most."""
        estimated = self.table.estimated_rows
        return MOST_ROWS if estimated is None else min(MOST_ROWS, max(_ALWAYS, estimated // 5))

    def __len__(self) -> int:
        return len(self._images)


def changed_rows(
    items: Iterable[LogItem], tables: Sequence[Table], wanted: Mapping[TableName, Wanted], checker: Checker
) -> dict[TableName, ChangedTable]:
    """Collects the changed rows of each table from the items of a log."""
    found = {table.name: ChangedTable(table) for table in tables}
    for item in items:
        if isinstance(item, Rows) and item.table.name in found:
            _Noting(found[item.table.name], item, wanted[item.table.name], checker).run()
        elif isinstance(item, Emptied) and item.table in found:
            found[item.table].whole = "the table was emptied"
        elif isinstance(item, Statement):
            for redefined in item.redefined:
                if redefined.table in found:
                    found[redefined.table].whole = redefined.reason or "its definition changed"
    return found


def unknown_before(index: IndexInfo, rows: Sequence[ChangedRow]) -> int:
    """The number of rows whose earlier values in this index are not all known."""

    def is_known(image: Mapping[str, str]) -> bool:
        return all(column.read.expression is None and column.name in image for column in index.columns)

    return sum(not all(is_known(image) for image in row.before) for row in rows)


class _Noting:
    """Notes the changes of one table in the order of the log."""

    def __init__(self, into: ChangedTable, rows: Rows, wanted: Wanted, checker: Checker) -> None:
        table = into.table
        columns = {name: place for place, name in enumerate(rows.table.columns)}
        self._into = into
        self._rows = rows
        self._checker = checker
        known = [(columns[c.name], c) for c in table.columns if c.name in columns]
        self._places = [(place, c) for place, c in known if c.name in wanted.indexed]
        self._referred_to = [(place, c) for place, c in known if c.name in wanted.referred_to]
        self._key = [(columns[name], table.column(name)) for name in table.key if name in columns]

    def run(self) -> None:
        into, key_of = self._into, self._key_of
        into.changes += len(self._rows.rows)
        for new, old in self._pairs():
            if len(into) >= into.most:
                into.whole = into.whole or f"more than {into.most:,} of its rows changed"
            if into.whole:
                return
            if old is not None and old is not new:
                into.note(key_of(old), self._image(old), there=False)
            if old is not None and self._referred_to:
                into._left.append(self._texts(old, self._key if old is new else self._referred_to))
            if new is not None:
                # A log without the old row guarantees that the key did not change.
                before = self._image(new, self._key) if old is new else None
                into.note(key_of(new), before, there=True)

    def _pairs(self) -> Iterator[tuple[Image | None, Image | None]]:
        """The new and the old row; the new row twice if the old one is unknown."""
        rows = self._rows
        if rows.kind is ChangeKind.INSERT:
            yield from ((row, None) for row in rows.rows)
        elif rows.kind is ChangeKind.DELETE:
            yield from ((None, row) for row in rows.rows)
        else:
            before = rows.before or [None] * len(rows.rows)
            yield from ((new, new if old is None else old) for new, old in zip(rows.rows, before, strict=True))

    def _key_of(self, image: Image) -> Literals:
        key = tuple(
            self._checker.literal(column, image[place]) for place, column in self._key if image[place] is not KEPT
        )
        known = tuple(part for part in key if part is not None and part != "NULL")
        if len(known) < len(self._into.table.key):
            self._into.whole = "the log does not hold the complete keys of its rows"
        elif known not in self._into._keys:
            self._into._keys[known] = tuple(
                self._checker.canonical(column, image[place]) for place, column in self._key
            )
        return known

    def _texts(self, image: Image, places: Sequence[tuple[int, Column]]) -> Texts:
        return {c.name: self._checker.canonical(c, image[place]) for place, c in places if image[place] is not KEPT}

    def _image(self, image: Image, places: Sequence[tuple[int, Column]] | None = None) -> dict[str, str]:
        values = {}
        for place, column in self._places if places is None else places:
            text = None if image[place] is KEPT else self._checker.literal(column, image[place])
            if text is not None:
                values[column.name] = text
        return values
