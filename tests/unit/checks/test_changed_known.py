"""Failures of an earlier check: what a look at a row would not show stays a failure."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tieout.checks.changed.indexes import distinct, lookable
from tieout.connectors.protocols.check import ChangedRow, Checker, IndexColumn, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.failures import Failure, FailureKind
from tieout.model.tables import Column, Table, TableName
from tieout.model.truncated import TruncatedText
from tieout.model.types import LogicalType, TypeName

ID, SKU = (Column(name, LogicalType(TypeName.INTEGER, "int", 64)) for name in ("id", "sku"))
TABLE = Table(TableName("s", "t"), (ID, SKU), key=("id",))
INDEX = IndexInfo("i", TABLE, (IndexColumn("sku", ScanColumn(SKU, Kind(Form.INTEGER))),))


class Plain:
    """A checker of which addresses are keys."""

    def addresses_are_keys(self, table: Table) -> bool:
        return True

    def literal_of(self, column: ScanColumn, text: str | None) -> str | None:
        return text


def looked_at(kind: FailureKind, **parts: Any) -> tuple[list[Failure], list[ChangedRow]]:
    failure = Failure(kind, "d", "s.t", index="i", **parts)
    (kept,), rows = lookable(cast("Checker", Plain()), TABLE, [INDEX], [[failure]])
    return kept, rows


@pytest.mark.parametrize("kind", [FailureKind.INDEX_ORDER, FailureKind.DUPLICATE_INDEX_ENTRY])
def test_kept(kind: FailureKind) -> None:
    kept, rows = looked_at(kind, primary_key={"id": "7"}, place="7", details={"entry.sku": "1"})
    assert ([each.kind for each in kept], rows) == ([kind], [])


def test_looked_at_again() -> None:
    stale = looked_at(FailureKind.STALE_INDEX_ENTRY, primary_key={"id": "7"}, details={"entry.sku": "1"})
    assert stale == ([], [ChangedRow(("7",), ({"sku": "1"},), True)])
    for key in ({"id": "8"}, None):
        dangling = looked_at(FailureKind.DANGLING_INDEX_ENTRY, primary_key=key, place="8", details={"entry.sku": "1"})
        assert dangling == ([], [ChangedRow(("8",), ({"sku": "1"},), False)])


def test_a_dangling_entry_is_one_failure_with_its_key_and_without() -> None:
    found = Failure(FailureKind.DANGLING_INDEX_ENTRY, "d", "s.t", index="i", primary_key={"id": "8"}, place="8")
    kept = Failure(FailureKind.DANGLING_INDEX_ENTRY, "d", "s.t", index="i", place="8")
    other = Failure(FailureKind.DANGLING_INDEX_ENTRY, "d", "s.t", index="i", primary_key={"id": "9"}, place="9")
    assert distinct([found, kept, other]) == (found, other)


CUT = TruncatedText("beginning", 100_000, "0f" * 16)


@pytest.mark.parametrize(
    "parts", [{"primary_key": {"id": CUT}}, {"primary_key": {"id": "7"}, "details": {"entry.sku": CUT}}]
)
def test_what_was_cut_short_is_not_looked_up_by_its_beginning(parts: dict[str, Any]) -> None:
    kept, rows = looked_at(FailureKind.STALE_INDEX_ENTRY, **parts)
    assert ([each.kind for each in kept], rows) == ([FailureKind.STALE_INDEX_ENTRY], [])
