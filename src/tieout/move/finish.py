"""Finishes a move, when a target has caught up: counters, foreign keys, statistics, and a list of what was not moved.

Each step can be repeated: a mover that was killed on the way starts again from the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.finish import Catalog, Orphans, TargetFinish
from tieout.connectors.protocols.move import Source, Target
from tieout.connectors.sql.ddl import ForeignKey
from tieout.errors import FencedError, TieoutError
from tieout.failpoints import reach
from tieout.model.constraints import ConstraintInfo, ConstraintKind, Enforcement
from tieout.model.constraints import Reference as ParentColumns
from tieout.model.finish import UNLISTED, Counter, Finish, ForeignKeyResult, KeyState, NotFinished, NotMoved
from tieout.model.moves import Fence, Transfer
from tieout.model.tables import Table, TableName
from tieout.move.create_tables import TableCreator
from tieout.move.not_moved import Inventory
from tieout.tasks.transforms import origins

T = TypeVar("T")


@dataclass
class Finishing:
    """`stopped` are the task's tables that can't be finished, and why. `redact`: show no values of rows."""

    source: Source
    target: Target
    endpoints: tuple[Endpoint, Endpoint]
    fence: Fence
    creator: TableCreator
    transfers: Sequence[Transfer]
    stopped: Sequence[NotFinished] = ()
    redact: bool = False
    _failed: list[NotFinished] = field(init=False, default_factory=list)

    def run(self) -> Finish:
        """Raises only what a retry or another mover has to deal with: all else is in the result."""
        with closing(self.source.catalog()) as source, closing(self.target.finisher()) as target:
            tables = self._targets()
            counters = self._counters(source, target, tables)
            reach("while-finishing")
            keys = self._foreign_keys(target, tables)
            reach("while-finishing")
            analyzed = [str(table.name) for table in tables if self._analyzed(target, table.name)]
            reach("while-finishing")
            triggers = target.disabled_triggers([table.name for table in tables])
            same_engine = self.creator.same_engine
            stopped = {each.what for each in self.stopped}
            inventory = Inventory(source, target, self.endpoints, self.transfers, same_engine, stopped)
            nothing: list[NotMoved] = []
            not_moved = self._tried(UNLISTED, inventory.not_moved, nothing)
            notes = [*(f"source: {words}" for words in source.blind_spots()), *target.warnings()]
        return Finish(
            tuple(analyzed),
            tuple(counters),
            tuple(keys),
            tuple(triggers),
            tuple(not_moved),
            (*self.stopped, *self._failed),
            tuple(notes),
        )

    def count_on(self) -> list[Counter]:
        """Lets the tables' counters continue after the source's and after their rows; sets none back."""
        if not self.transfers:
            return []
        with closing(self.source.catalog()) as source, closing(self.target.finisher()) as target:
            return self._counters(source, target, self._targets())

    def _targets(self) -> list[Table]:
        """The tables as they are now, each once: several tables of the source may go to one."""
        names = list(dict.fromkeys(transfer.target.name for transfer in self.transfers))
        return self.endpoints[1].describe(names)

    def _counters(self, source: Catalog, target: TargetFinish, tables: Sequence[Table]) -> list[Counter]:
        counters = []
        for table in tables:
            try:
                counters += target.count_on(self.fence, table, self._wanted(source, table.name))
            except TieoutError as error:
                counters.append(Counter(str(table.name), "", None, _own(error)))
        # Now: a later table may have the same sequence.
        now = {str(table.name): target.following(table) for table in tables}
        return [each if each.next is None else replace(each, next=now[each.table][each.column]) for each in counters]

    def _wanted(self, source: Catalog, target: TableName) -> dict[str, int]:
        """Where the columns of a target have to continue, by the counters of all tables that go there."""
        wanted: dict[str, int] = {}
        for transfer in self.transfers:
            if transfer.target.name == target:
                numbers = source.following(transfer.source)
                for column, origin in origins(transfer).items():
                    if origin in numbers:
                        wanted[column] = _further(wanted.get(column), numbers[origin])
        return wanted

    def _foreign_keys(self, target: TargetFinish, tables: Sequence[Table]) -> list[ForeignKeyResult]:
        created, lacking = self._created()
        moved = {table.name for table in tables}
        found = []
        for key in target.foreign_keys(tables):
            result = self._checked(target, key, own=key.table.name in moved)
            name = (str(key.table.name), key.name)
            found.append(replace(result, done="created") if name in created else result)
        return [*found, *(self._lacking(target, transfer, key, error) for transfer, key, error in lacking)]

    def _created(self) -> tuple[set[tuple[str, str]], list[tuple[Transfer, ForeignKey, str]]]:
        """Creates foreign keys that the mover had left out; returns which, and those that the target still refuses."""
        created, lacking = set(), []
        for transfer, key, error in self.creator.refer_again(self.transfers):
            if error is None:
                created.add((str(transfer.target.name), key.part.name))
            else:
                lacking.append((transfer, key, error))
        return created, lacking

    def _checked(self, target: TargetFinish, key: ConstraintInfo, *, own: bool) -> ForeignKeyResult:
        result = ForeignKeyResult(str(key.table.name), key.name, _parent(key), KeyState.VALID)
        if key.unchecked is not None:
            return replace(result, state=KeyState.FAILED, message=key.unchecked)
        validated, refused = False, None
        if key.enforcement is Enforcement.NOT_VALID and own:
            try:
                target.validate(self.fence, key)
                validated = True
            except TieoutError as error:
                refused = _own(error)
        try:
            orphans = target.orphans(key)
        except TieoutError as error:
            return replace(result, state=KeyState.FAILED, message=_own(error))
        if orphans.rows:
            return self._violated(result, orphans)
        if refused is not None:
            return replace(result, state=KeyState.FAILED, message=refused)
        if key.enforcement is Enforcement.DISABLED:
            return replace(result, state=KeyState.NOT_ENFORCED)
        if key.enforcement is Enforcement.NOT_VALID and not own:
            return replace(result, message="not validated: its table is not of the task (VALIDATE CONSTRAINT)")
        return replace(result, done="validated" if validated else None)

    def _lacking(self, target: TargetFinish, transfer: Transfer, key: ForeignKey, error: str) -> ForeignKeyResult:
        """A foreign key that the target refused to create: because of rows, or for another reason."""
        parents = {each.source.name: each.target.name for each in self.transfers}
        parent = parents[key.parent]
        result = ForeignKeyResult(str(transfer.target.name), key.part.name, str(parent), KeyState.FAILED, message=error)
        sought = self._as_constraint(transfer, key, parent)
        if sought is None:
            return result
        try:
            orphans = target.orphans(sought)
        except TieoutError:
            return result  # the server's reason stands
        return self._violated(result, orphans) if orphans.rows else result

    def _as_constraint(self, transfer: Transfer, key: ForeignKey, parent: TableName) -> ConstraintInfo | None:
        reference = key.reference
        if reference is None:
            known = self.source.wiring(transfer.source).references
            reference = next((each for each in known if each.name == key.part.name), None)
        if reference is None:
            return None
        child = self.endpoints[1].describe([transfer.target.name])[0]
        return ConstraintInfo(
            key.part.name,
            ConstraintKind.FOREIGN_KEY,
            child,
            reference.columns,
            reference=ParentColumns(parent, reference.parent_columns),
        )

    def _violated(self, result: ForeignKeyResult, orphans: Orphans) -> ForeignKeyResult:
        example = None if self.redact else orphans.example
        return replace(result, state=KeyState.VIOLATED, rows=orphans.rows, example=example, message=None)

    def _analyzed(self, target: TargetFinish, table: TableName) -> bool:
        def analyze() -> bool:
            target.analyze(self.fence, table)
            return True

        return self._tried(f"the statistics of {table}", analyze, False)

    def _tried(self, what: str, work: Callable[[], T], otherwise: T) -> T:
        try:
            return work()
        except TieoutError as error:
            self._failed.append(NotFinished(what, _own(error)))
            return otherwise


def _own(error: TieoutError) -> str:
    """The words of an error that concerns one object. Raises it again if it concerns the mover."""
    if error.transient or isinstance(error, FencedError):
        raise error
    return error.message


def _parent(key: ConstraintInfo) -> str:
    return "" if key.reference is None else str(key.reference.parent)


def _further(known: int | None, number: int) -> int:
    return number if known is None else max(known, number)
