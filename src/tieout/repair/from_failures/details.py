"""What a planned change needs besides its row. The plan stores it as a document; the code uses these types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tieout.connectors.protocols.repair import Row
from tieout.meta import RepairChange


@dataclass(frozen=True, slots=True)
class NoParent:
    """No row of `table` has in its columns `to` what the changed row has in `columns`."""

    table: str
    columns: tuple[str, ...]
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasDuplicate:
    """Another row has the same values in these columns."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LacksEntry:
    """The index has no entry for the row at this address."""

    index: str
    address: str


@dataclass(frozen=True, slots=True)
class IsReferredTo:
    """A row of `table` with this key has these values, which refer to the changed row."""

    table: str
    key: Row
    values: Row


Condition = NoParent | HasDuplicate | LacksEntry | IsReferredTo
"""What must be true, besides the row itself, when the change is made: else the failure is gone."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entry of an index that a rebuild removes, and the failure that reported it."""

    failure: str
    index: str
    address: str | None
    values: Row


@dataclass(frozen=True, slots=True)
class Child:
    """A row for which the repair inserts a parent."""

    table: str
    key: Row


@dataclass(frozen=True, slots=True)
class Details:
    """`failures` are those that the change ends. `triggers`: people accepted that triggers run.

    For a row: `constraints` that it breaks, columns that get their `defaults`, `touch` to write it again unchanged.
    For indexes and sequences: the `statements` that repair them, and the `entries` that go to quarantine first.
    """

    failures: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    defaults: tuple[str, ...] = ()
    touch: bool = False
    statements: tuple[str, ...] = ()
    entries: tuple[IndexEntry, ...] = ()
    children: tuple[Child, ...] = ()
    triggers: bool = False

    def document(self) -> dict[str, Any]:
        written: dict[str, Any] = {
            "failures": list(self.failures),
            "indexes": list(self.indexes),
            "constraints": list(self.constraints),
            "still": [_condition_document(each) for each in self.conditions],
            "defaults": list(self.defaults),
            "touch": self.touch,
            "statements": list(self.statements),
            "entries": [
                {"failure": each.failure, "index": each.index, "place": each.address, "values": dict(each.values)}
                for each in self.entries
            ],
            "children": [{"table": each.table, "key": dict(each.key)} for each in self.children],
            "triggers": self.triggers,
        }
        return {name: value for name, value in written.items() if value or name == "failures"}


def details_of(change: RepairChange) -> Details:
    kept = change.details or {}
    return Details(
        tuple(kept.get("failures", ())),
        tuple(kept.get("indexes", ())),
        tuple(kept.get("constraints", ())),
        tuple(_condition(each) for each in kept.get("still", ())),
        tuple(kept.get("defaults", ())),
        bool(kept.get("touch")),
        tuple(kept.get("statements", ())),
        tuple(IndexEntry(e["failure"], e["index"], e["place"], e["values"]) for e in kept.get("entries", ())),
        tuple(Child(each["table"], each["key"]) for each in kept.get("children", ())),
        bool(kept.get("triggers")),
    )


def _condition_document(condition: Condition) -> dict[str, Any]:
    match condition:
        case NoParent(table, columns, to):
            return {"orphan": table, "columns": list(columns), "to": list(to)}
        case HasDuplicate(columns):
            return {"duplicate": list(columns)}
        case LacksEntry(index, address):
            return {"missing_in": index, "place": address}
        case IsReferredTo(table, key, values):
            return {"refers": table, "key": dict(key), "values": dict(values)}


def _condition(kept: Mapping[str, Any]) -> Condition:
    if "orphan" in kept:
        return NoParent(kept["orphan"], tuple(kept["columns"]), tuple(kept["to"]))
    if "duplicate" in kept:
        return HasDuplicate(tuple(kept["duplicate"]))
    if "missing_in" in kept:
        return LacksEntry(kept["missing_in"], kept["place"])
    return IsReferredTo(kept["refers"], kept["key"], kept["values"])
