"""Compares two sets of rows in memory and returns their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from tieout.canonical.numbers import within
from tieout.model.canonical_kinds import Tolerance
from tieout.model.differences import Difference, DifferenceCounts, DifferenceKind, ValuePair
from tieout.model.keys import Key
from tieout.model.redaction import Redaction
from tieout.model.truncated import LONGEST_KEPT, longest_of
from tieout.verification.rows import Rows


@dataclass(frozen=True, slots=True)
class RowPair:
    """A row that differs: its index among the source's and the target's rows, None where it is missing."""

    kind: DifferenceKind
    source: int | None
    target: int | None
    copies: int = 1


@dataclass(frozen=True)
class Shape:
    """What a comparison needs to know about a table."""

    table: str
    columns: tuple[str, ...]
    key: tuple[int, ...]
    tolerances: Mapping[int, Tolerance]
    redaction: Redaction | None = None

    def shown(self, difference: Difference) -> Difference:
        """The difference as reports may list it: without values, if they are redacted."""
        if self.redaction is None:
            return difference
        return self.redaction.difference(difference, keyed=bool(self.key))

    @property
    def identity(self) -> tuple[int, ...]:
        """The columns by which a report identifies a row: the key, or all of them."""
        return self.key or tuple(range(len(self.columns)))


@dataclass(frozen=True)
class Comparison:
    """The rows that differ, with the rows they came from. `ambiguous`: one side has a key twice."""

    shape: Shape
    source: Rows
    target: Rows
    pairs: tuple[RowPair, ...]
    ambiguous: bool = False

    @property
    def counts(self) -> DifferenceCounts:
        totals = dict.fromkeys(DifferenceKind, 0)
        for pair in self.pairs:
            totals[pair.kind] += pair.copies
        return DifferenceCounts(
            *(totals[k] for k in (DifferenceKind.MISSING, DifferenceKind.EXTRA, DifferenceKind.CHANGED))
        )

    def key(self, pair: RowPair) -> tuple[bytes, Key | None]:
        """The hash of a row's key, and the key to look it up by; None if no literal matches it exactly."""
        rows, row = _side(self, pair)
        return rows.keys[row].tobytes(), rows.key(row, self.shape.key) if self.shape.key else None

    def differences(self) -> Iterator[Difference]:
        return (self.difference(pair) for pair in self.pairs)

    def difference(self, pair: RowPair, longest: int = LONGEST_KEPT) -> Difference:
        """The difference for reports, with values truncated after `longest` bytes. Values of a key may be longer, so
        that they find the row.
        """
        shape = self.shape
        rows, row = _side(self, pair)
        of_key = LONGEST_KEPT if shape.key else longest_of(len(shape.columns), longest)
        key = {shape.columns[place]: rows.kept(row, place, of_key) for place in shape.identity}
        changed: dict[str, ValuePair] = {}
        if pair.source is not None and pair.target is not None:
            places = changed_columns(shape, self.source, pair.source, self.target, pair.target)
            longest = longest_of(2 * len(places), longest)
            for place in places:
                values = self.source.kept(pair.source, place, longest), self.target.kept(pair.target, place, longest)
                changed[shape.columns[place]] = ValuePair(*values)
        return Difference(shape.table, pair.kind, key, changed, pair.copies)


def compare_rows(shape: Shape, source: Rows, target: Rows) -> Comparison:
    """Compares two sets of rows. Rows match by key. Without a key, and for keys that occur twice, they are multisets:
    equal rows cancel one for one.
    """
    left, right = _frame(source), _frame(target)
    on = ["k0", "k1"]
    doubled = pl.concat([_doubled(left), _doubled(right)]).unique() if shape.key else None
    if doubled is None:
        return Comparison(shape, source, target, tuple(_multiset(left, right)))
    if not len(doubled):
        return Comparison(shape, source, target, tuple(_keyed(shape, source, target, left, right)))
    pairs = _multiset(left.join(doubled, on=on, how="semi"), right.join(doubled, on=on, how="semi"))
    left, right = left.join(doubled, on=on, how="anti"), right.join(doubled, on=on, how="anti")
    pairs += _keyed(shape, source, target, left, right)
    return Comparison(shape, source, target, tuple(pairs), ambiguous=True)


def changed_columns(shape: Shape, source: Rows, left: int, target: Rows, right: int) -> list[int]:
    """The columns in which two rows differ, tolerances applied."""
    result = []
    for place in range(len(shape.columns)):
        a, i = source.field_at(left, place)
        b, j = target.field_at(right, place)
        tolerance = shape.tolerances.get(place)
        if a.mark(i) != b.mark(j) and (tolerance is None or not within(a.text(i), b.text(j), tolerance)):
            result.append(place)
    return result


def _keyed(shape: Shape, source: Rows, target: Rows, left: pl.DataFrame, right: pl.DataFrame) -> list[RowPair]:
    on = ["k0", "k1"]
    missing = left.join(right, on=on, how="anti")["i"].sort()
    extra = right.join(left, on=on, how="anti")["i"].sort()
    both = left.join(right, on=on, how="inner", suffix="_t")
    both = both.filter((pl.col("f0") != pl.col("f0_t")) | (pl.col("f1") != pl.col("f1_t"))).sort("i")
    pairs = [RowPair(DifferenceKind.MISSING, row, None) for row in missing]
    pairs += [RowPair(DifferenceKind.EXTRA, None, row) for row in extra]
    for row, other in zip(both["i"], both["i_t"], strict=True):
        # With a tolerance, two values close to each other may be equal and still have different fingerprints.
        if not shape.tolerances or changed_columns(shape, source, row, target, other):
            pairs.append(RowPair(DifferenceKind.CHANGED, row, other))
    return pairs


def _multiset(left: pl.DataFrame, right: pl.DataFrame) -> list[RowPair]:
    counted = [frame.group_by("f0", "f1").agg(n=pl.len(), i=pl.col("i").min()) for frame in (left, right)]
    joined = counted[0].join(counted[1], on=["f0", "f1"], how="full", suffix="_t", coalesce=True).sort("i", "i_t")
    pairs = []
    for _, _, n, i, n_t, i_t in joined.iter_rows():
        more = (n or 0) - (n_t or 0)
        if more > 0:
            pairs.append(RowPair(DifferenceKind.MISSING, i, None, more))
        elif more < 0:
            pairs.append(RowPair(DifferenceKind.EXTRA, None, i_t, -more))
    return pairs


def _frame(rows: Rows) -> pl.DataFrame:
    return (
        pl.DataFrame(
            {
                "k0": rows.keys[:, 0],
                "k1": rows.keys[:, 1],
                "f0": rows.prints[:, 0],
                "f1": rows.prints[:, 1],
            }
        )
        .with_row_index("i")
        .with_columns(pl.col("i").cast(pl.Int64))
    )


def _doubled(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("k0", "k1").len().filter(pl.col("len") > 1).select("k0", "k1")


def _side(comparison: Comparison, pair: RowPair) -> tuple[Rows, int]:
    if pair.source is not None:
        return comparison.source, pair.source
    assert pair.target is not None
    return comparison.target, pair.target


def selected(comparison: Comparison, pairs: Sequence[RowPair]) -> Comparison:
    """The same comparison with only some of its pairs."""
    return Comparison(comparison.shape, comparison.source, comparison.target, tuple(pairs), comparison.ambiguous)
