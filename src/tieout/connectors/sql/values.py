"""The values of a table, checked by the engine while it reads the table by ranges of its key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.connectors.protocols.endpoint import Reader, Scan, ScanColumn, retry_cautiously
from tieout.connectors.protocols.paths import BrokenValue, RuleCounts, UnreadableValue, ValueRule, shown_text
from tieout.connectors.sql import select
from tieout.connectors.sql.dialect import Dialect
from tieout.errors import ReadError
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.keys import EVERYTHING, Key, KeyRange, ranges_between
from tieout.model.tables import Column, Table
from tieout.model.truncated import LONGEST_IN_FAILURE
from tieout.model.types import LogicalType, TypeName

_PIECE = 50_000
"""The number of rows that one statement reads."""
_COUNT = (LogicalType(TypeName.INTEGER, "bigint", 64), Kind(Form.INTEGER))
_BYTES = (LogicalType(TypeName.BINARY, "blob"), Kind(Form.BYTES))


@dataclass(frozen=True)
class ScanValues:
    """`key_columns` identify rows in reports. The table is split by `order`: a unique value for each row, in an order
    of the engine's own; empty if there is none.

    `through` forces a read of the table itself; `within` does so for a part of it. `words` is the prefix that the
    reader puts before the engine's own message.
    """

    reader: Reader
    dialect: Dialect
    table: Table
    rules: tuple[ValueRule, ...]
    key_columns: tuple[ScanColumn, ...]
    order: tuple[ScanColumn, ...]
    through: str
    within: str
    evidence: str
    words: str
    unchecked_columns: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.key_columns)

    def parts(self, most: int) -> list[KeyRange]:
        """Splits the table by the engine's statistics of the key, if it has any."""
        known = self.table.sampled_keys[1:-1] if len(self.order) == 1 else ()
        if not known or (self.table.estimated_rows or 0) <= _PIECE:
            return [EVERYTHING]
        step = max(1, (len(known) + 1) // most)
        return ranges_between([(key,) for key in known[step - 1 :: step]])

    def pieces(self, part: KeyRange) -> Iterator[KeyRange]:
        low = part.low
        while self.order:
            try:
                cut = self.reader.bounds(self._ordered, KeyRange(low, part.high), _PIECE, 1)
            except ReadError:
                break  # read the rest at once: that read will report the error
            if not cut:
                break
            yield KeyRange(low, cut[0])
            low = cut[0]
        yield KeyRange(low, part.high)

    def count_broken(self, piece: KeyRange, rules: Sequence[int]) -> RuleCounts:
        counts = [f"COUNT(CASE WHEN {self.rules[number].broken} THEN 1 END)" for number in rules]
        columns = [_computed(each, *_COUNT) for each in ("COUNT(*)", *counts)]
        (batch,) = self._read(piece, columns)
        rows, *broken = (int(array[0].as_py()) for array in batch.columns)
        return RuleCounts(rows, tuple(broken))

    def broken(self, piece: KeyRange, rules: Sequence[int]) -> list[BrokenValue]:
        conditions = [f"CASE WHEN {self.rules[number].broken} THEN 1 ELSE 0 END" for number in rules]
        shown = [expression for number in rules for _, expression in self.rules[number].shown]
        columns = [_computed(each, *_COUNT) for each in conditions] + [_computed(each, *_BYTES) for each in shown]
        condition = " OR ".join(f"({self.rules[number].broken})" for number in rules)
        found: list[BrokenValue] = []
        for batch in self._read(piece, [*self.key_columns, *columns], condition):
            found += self._broken_values(rules, batch)
        return found

    def _broken_values(self, rules: Sequence[int], batch: pa.RecordBatch) -> Iterator[BrokenValue]:
        wide = len(self.key_columns)
        keys = self._keys(batch)
        breaks = [batch.column(wide + place).to_pylist() for place in range(len(rules))]
        shown = iter(batch.column(place).to_pylist() for place in range(wide + len(rules), batch.num_columns))
        for number, is_broken in zip(rules, breaks, strict=True):
            rule = self.rules[number]
            values = [(name, next(shown)) for name, _ in rule.shown]
            for row in range(batch.num_rows):
                if is_broken[row]:
                    shown_values = tuple((name, shown_text(value[row])) for name, value in values)
                    yield BrokenValue(number, rule.kind, None, keys[row], shown_values)

    def halves(self, piece: KeyRange) -> list[KeyRange]:
        if not self.order:
            return []
        with self._failing():
            rows = self.reader.count(self._ordered, piece)
            middle = self.reader.bounds(self._ordered, piece, rows // 2, 1) if rows > 1 else []
        return [KeyRange(piece.low, middle[0]), KeyRange(middle[0], piece.high)] if middle else []

    def row_of(self, piece: KeyRange) -> tuple[str | None, tuple[str | None, ...] | None]:
        place = None if piece == EVERYTHING else str(piece)
        try:
            batches = list(self._read(piece, self.key_columns)) if self.key_columns else []
            keys = [key for batch in batches for key in self._keys(batch)]
            first = self._first(piece)
        except UnreadableValue:
            return place, None
        return ", ".join(first) if first else place, keys[0] if len(keys) == 1 else None

    def _first(self, piece: KeyRange) -> Key | None:
        """The value of `order` in the only row of a range."""
        found = self.reader.bounds(self._ordered, piece, 0, 1) if self.order else []
        return found[0] if found else None

    @property
    def _ordered(self) -> Scan:
        places = tuple(range(len(self.order)))
        return Scan(self.table, self.order, places, places, through=self.within)

    def _read(self, piece: KeyRange, columns: Sequence[ScanColumn], where: str | None = None) -> list[pa.RecordBatch]:
        parts = [select.within(self.dialect, self._ordered, piece), f"({where})" if where else ""]
        condition = " AND ".join(part for part in parts if part)
        through = self.through if piece == EVERYTHING else self.within
        scan = Scan(self.table, tuple(columns), where=condition or None, through=through)
        with self._failing():
            return retry_cautiously(self.reader, lambda reader: list(reader.read(scan, EVERYTHING)))

    def _keys(self, batch: pa.RecordBatch) -> list[tuple[str | None, ...] | None]:
        arrays = batch.columns[: len(self.key_columns)]
        fields = [decode(column.kind, array) for column, array in zip(self.key_columns, arrays, strict=True)]
        if not fields:
            return [None] * batch.num_rows
        return [tuple(field.kept(row, LONGEST_IN_FAILURE) for field in fields) for row in range(batch.num_rows)]

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turns a ReadError inside the block into UnreadableValue."""
        try:
            yield
        except ReadError as error:
            raise UnreadableValue(None, error.message.removeprefix(self.words)) from None


def _computed(expression: str, logical: LogicalType, kind: Kind) -> ScanColumn:
    return ScanColumn(Column("computed", logical), kind, expression)
