"""Failures that were found before: those that can be looked at again by key, and those that only a whole check can."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.connectors.protocols.check import ChangedRow, Checker, IndexInfo, Literals
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.failures import Failure, FailureKind
from tieout.model.kinds import Kind, common_kind
from tieout.model.redaction import is_hidden
from tieout.model.tables import Table
from tieout.model.truncated import is_whole

_ENTRY = "entry."
_LOOKABLE = {
    FailureKind.MISSING_INDEX_ENTRY,
    FailureKind.DANGLING_INDEX_ENTRY,
    FailureKind.STALE_INDEX_ENTRY,
    FailureKind.WRONG_ROW_REFERENCE,
}
"""Not the order of entries, nor two that are the same: a look at a row tells nothing of those."""


def lookable(
    checker: Checker, table: Table, indexes: Sequence[IndexInfo], known: Sequence[Sequence[Failure]]
) -> tuple[list[list[Failure]], list[ChangedRow]]:
    """By index, the failures that stay as they are; and the rows that the others are about."""
    kept: list[list[Failure]] = [[] for _ in indexes]
    rows: list[ChangedRow] = []
    for number, (index, failures) in enumerate(zip(indexes, known, strict=True)):
        for failure in failures:
            row = _row(checker, table, index, failure)
            if row is None:
                kept[number].append(failure)
            else:
                rows.append(row)
    return kept, rows


def _row(checker: Checker, table: Table, index: IndexInfo, failure: Failure) -> ChangedRow | None:
    if not is_whole({**(failure.primary_key or {}), **failure.details}):
        return None  # no row is looked up by the beginning of a value
    texts = _key(checker, table, failure) if failure.kind in _LOOKABLE else None
    if texts is None:
        return None
    key = [checker.literal_of(_column(table, name), text) for name, text in zip(table.key, texts, strict=True)]
    entry = {name: text for name, text in failure.details.items() if name.startswith(_ENTRY)}
    if any(map(is_hidden, entry.values())):
        return None  # nobody knows any more what the entry was
    image: dict[str, str] = {}
    for column in index.columns if entry else ():
        value = checker.literal_of(column.read, entry.get(_ENTRY + column.name))
        if value is None:
            return None
        image[column.name] = value
    literals: Literals = tuple(part for part in key if part is not None)
    there = failure.primary_key is not None  # unless the log tells that it went
    return ChangedRow(literals, (image,) if image else (), there) if len(literals) == len(key) else None


def _key(checker: Checker, table: Table, failure: Failure) -> list[str | None] | None:
    """The key of the row that it is about; without a row, the one that the entry has, if addresses are keys."""
    if failure.primary_key is not None:
        return [failure.primary_key.get(name) for name in table.key]
    if failure.place is None or not checker.addresses_are_keys(table):
        return None
    parts: list[str | None] = [*failure.place.split(", ")]
    return parts if len(parts) == len(table.key) else None


def _column(table: Table, name: str) -> ScanColumn:
    column = table.column(name)
    kind = common_kind(column.type, column.type)
    assert isinstance(kind, Kind), f"{name} has been read before"
    return ScanColumn(column, kind)
