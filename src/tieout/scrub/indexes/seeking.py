"""Rows that an index does not lead to, where what it holds can't be read: each is looked up through it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.connectors.checking import IndexInfo, Path, Sought, Unfound
from tieout.errors import TieoutError
from tieout.model.failures import Failure, FailureKind
from tieout.scrub.dealing import done
from tieout.scrub.indexes.classify import AddressText
from tieout.scrub.indexes.mismatches import Values


@dataclass(frozen=True)
class SeekRows:
    path: Sought

    def run(self) -> Iterator[list[Unfound]]:
        yield self.path.unfound()


@dataclass(frozen=True)
class SeekFound:
    """`error` is what kept rows from being looked up."""

    rows: tuple[Unfound, ...] = ()
    error: TieoutError | None = None


def find_unfound(spark: SparkSession, paths: Sequence[Path]) -> list[SeekFound | None]:
    """For each path what it found; None for one that shows all that its entries hold."""
    sought = {number: SeekRows(path) for number, path in enumerate(paths) if isinstance(path, Sought)}
    outcomes = dict(zip(sought, done(spark, list(sought.values())), strict=True)) if sought else {}
    return [
        None if outcome is None else SeekFound(error=outcome.error) if outcome.error else SeekFound(outcome.only())
        for outcome in map(outcomes.get, range(len(paths)))
    ]


def seek_failures(
    database: str,
    index: IndexInfo,
    found: Sequence[Unfound],
    known: Collection[Values | None],
    address_text: AddressText,
) -> Iterator[Failure]:
    """One for each row whose address is not `known`: that has its entry, but where nobody looks for it."""
    names = [name for name, _ in index.shortened]
    for row in found:
        if row.address not in known:
            yield Failure(
                FailureKind.STALE_INDEX_ENTRY,
                database,
                str(index.table.name),
                tuple(names),
                index=index.name,
                primary_key=dict(zip(index.table.key, row.address, strict=True)),
                place=address_text(row.address),
                details={f"row.{name}": text for name, text in zip(names, row.beginnings, strict=True)},
            )
