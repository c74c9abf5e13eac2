"""What is wrong at an address, by name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tieout.checks.indexes.classify import Classifier
from tieout.checks.indexes.compare import EntryThere, Mismatch, RowThere
from tieout.connectors.protocols.check import IndexColumn, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.failures import Failure, FailureKind
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName

TEXT = LogicalType(TypeName.TEXT, "text")
TABLE = Table(TableName("public", "t"), (Column("id", TEXT), Column("a", TEXT), Column("b", TEXT)), ("id",))


def column(name: str, *, included: bool = False) -> IndexColumn:
    return IndexColumn(name, ScanColumn(TABLE.column(name), Kind(Form.TEXT)), included)


INDEX = IndexInfo("i", TABLE, (column("a"), column("b", included=True)))


def row(a: str | None, b: str | None = "x", key: str = "7") -> RowThere:
    return RowThere(f"{a}/{b}", (a, b), (key,))


def entry(a: str | None, b: str | None = "x") -> EntryThere:
    return EntryThere(f"{a}/{b}", (a, b))


def classified(
    rows: Sequence[RowThere],
    entries: Sequence[EntryThere],
    excluded: Sequence[RowThere] = (),
    address: tuple[str, ...] | None = ("42",),
    *,
    addresses_are_keys: bool = False,
) -> list[Failure]:
    classifier = Classifier(
        "shop", INDEX, ["id"], lambda address: f"({address[0]})", addresses_are_keys=addresses_are_keys
    )
    return list(classifier.failures(Mismatch(0, address, tuple(rows), tuple(excluded), tuple(entries))))


@pytest.mark.parametrize(
    ("rows", "entries", "excluded", "kinds"),
    [
        ([row("1")], [], [], ["missing_index_entry"]),
        ([], [entry("1")], [], ["dangling_index_entry"]),
        ([row("1")], [entry("2")], [], ["stale_index_entry"]),
        ([row(None)], [entry("0")], [], ["stale_index_entry"]),
        ([row("1", "x")], [entry("1", "y")], [], ["wrong_stored_value"]),
        ([row("1", "x")], [entry("2", "y")], [], ["stale_index_entry"]),
        ([row("1")], [entry("1"), entry("1")], [], ["duplicate_index_entry"]),
        ([row("1")], [entry("1"), entry("2")], [], ["wrong_row_reference"]),
        ([row("1")], [entry("2"), entry("3")], [], ["stale_index_entry", "wrong_row_reference"]),
        ([], [entry("1")], [row("1")], ["stale_index_entry"]),
    ],
)
def test_a_kind(rows: list[RowThere], entries: list[EntryThere], excluded: list[RowThere], kinds: list[str]) -> None:
    assert [failure.kind.value for failure in classified(rows, entries, excluded)] == kinds


def test_what_is_told() -> None:
    (failure,) = classified([row("1", "x")], [entry("1", "y")])
    assert failure == Failure(
        FailureKind.WRONG_STORED_VALUE,
        "shop",
        "public.t",
        ("b",),
        index="i",
        primary_key={"id": "7"},
        place="(42)",
        details={"row.a": "1", "row.b": "x", "entry.a": "1", "entry.b": "y"},
    )


@pytest.mark.parametrize(("addresses_are_keys", "key"), [(True, {"id": "42"}), (False, None)])
def test_a_dangling_entry_names_the_key_that_it_holds(addresses_are_keys: bool, key: dict[str, str] | None) -> None:
    (dangling,) = classified([], [entry("1")], addresses_are_keys=addresses_are_keys)
    assert (dangling.kind, dangling.primary_key, dangling.place) == (FailureKind.DANGLING_INDEX_ENTRY, key, "(42)")
    # A row that is there is called by its own key.
    (stale,) = classified([row("2")], [entry("1")], addresses_are_keys=addresses_are_keys)
    assert stale.primary_key == {"id": "7"}


def test_without_addresses_what_is_alike_is_counted() -> None:
    """Which of three rows that are alike has no entry, nobody can tell; that one has none, is told of one."""
    alike = [row("1", key="7"), row("1", key="8"), row("1", key="9")]
    (missing,) = classified(alike, [entry("1"), entry("1")], address=None)
    assert missing.kind is FailureKind.MISSING_INDEX_ENTRY
    (dangling,) = classified([row("1")], [entry("1"), entry("1")], address=None)
    assert (dangling.kind, dangling.primary_key, dangling.place) == (FailureKind.DANGLING_INDEX_ENTRY, None, None)
    (nowhere,) = classified([], [entry("1")], address=None, addresses_are_keys=True)
    assert nowhere.primary_key is None
