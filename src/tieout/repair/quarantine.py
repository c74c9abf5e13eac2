"""The quarantine table: copies of what repairs removed, and the proof of what they have committed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.repair import Repairer, Row, quarantine_table
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.tables import Table
from tieout.repair.rows import look_up


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of one row or entry. `values` None: nothing was there before; `left` None: nothing is there now."""

    change: int
    part: int
    failure: str
    what: str
    table: str
    key: Row
    values: Row | None
    left: Row | None = None
    undone: bool = False


class Quarantine:
    """The copies of one plan. Creates the table on first use, outside a transaction: some engines would end it."""

    def __init__(self, repairer: Repairer, schema: str, plan: str) -> None:
        self._repairer = repairer
        self._schema = schema
        self._plan = plan
        self._made = False
        self.table = quarantine_table(schema)
        self._scan = _scan(self.table)

    def make(self) -> None:
        if not self._made:
            self._repairer.run(self._repairer.make_quarantine(self._schema))
            self._made = True

    def kept(self, change: int, parts: Sequence[int] = (0,)) -> dict[int, Copy]:
        """The copies of a change, by part."""
        keys = [(self._plan, str(change), str(part)) for part in parts]
        found = look_up(self._scan, keys, lambda some: self._repairer.rows(self._scan, some, lock=False))
        copies = {}
        for (at,) in found.places.values():
            row = {c.name: found.rows.text(at, place) for place, c in enumerate(self._scan.columns)}
            copies[int(row["part"] or 0)] = _copy(row)
        return copies

    def keep(self, copy: Copy) -> None:
        """Writes a copy in the open transaction."""
        self._repairer.execute(self.statement(copy))

    def statement(self, copy: Copy) -> str:
        row: Row = {
            "plan": self._plan,
            "change_number": str(copy.change),
            "part": str(copy.part),
            "failure": copy.failure,
            "what": copy.what,
            "table_name": copy.table,
            "row_key": _json(copy.key),
            "row_values": _json(copy.values),
            "left_values": _json(copy.left),
            "kept_at": _now(),
        }
        return self._repairer.statements.insert(self.table, row)

    def set_left(self, change: int, left: Row | None) -> None:
        """Records the row that a change left, if it was unknown when the copy was made."""
        self._update(change, {"left_values": _json(left)})

    def mark_undone(self, copy: Copy) -> None:
        self._update(copy.change, {"undone_at": _now()})

    def _update(self, change: int, values: Row) -> None:
        key: Row = {"plan": self._plan, "change_number": str(change), "part": "0"}
        self._repairer.execute(self._repairer.statements.update(self.table, key, values))


def _scan(table: Table) -> Scan:
    columns = []
    for column in table.columns:
        kind = common_kind(column.type, column.type)
        assert isinstance(kind, Kind), "texts and numbers"
        columns.append(ScanColumn(column, kind))
    return Scan(table, tuple(columns), (0, 1, 2))


def _copy(row: Row) -> Copy:
    return Copy(
        int(row["change_number"] or 0),
        int(row["part"] or 0),
        row["failure"] or "",
        row["what"] or "",
        row["table_name"] or "",
        json.loads(row["row_key"] or "{}"),
        json.loads(row["row_values"] or "null"),
        json.loads(row["left_values"] or "null"),
        row["undone_at"] is not None,
    )


def _json(values: Row | None) -> str | None:
    """JSON in ASCII, so that no engine refuses a character."""
    return None if values is None else json.dumps(dict(values), ensure_ascii=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
