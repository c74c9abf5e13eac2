"""Makes the checks of one table after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from tieout.connectors.base import ScanColumn
from tieout.connectors.checking import Checker, Follows, TablePath, Unreadable
from tieout.connectors.kept import kept_open
from tieout.errors import AccessError, BusyError, MissingObjectError, ReadError, UnsupportedError
from tieout.model.failures import CheckResult, Status
from tieout.model.kinds import Kind, common_kind
from tieout.model.statements import EngineChecker, Family
from tieout.model.tables import Table
from tieout.report.words import plural
from tieout.scrub.checked import Checked, not_checked
from tieout.scrub.constraints.checks import ConstraintChecks
from tieout.scrub.indexes.classify import Classifier
from tieout.scrub.indexes.comparing import Compared, IndexComparison
from tieout.scrub.indexes.digesting import ReadableIndex, TableIndexes
from tieout.scrub.indexes.following import followed
from tieout.scrub.indexes.mismatches import MOST, Mismatch
from tieout.scrub.indexes.ordering import MOST as MOST_DISORDERS
from tieout.scrub.indexes.ordering import OrderFound, find_disorder, order_failure
from tieout.scrub.indexes.projection import table_columns
from tieout.scrub.ledger import Ledger
from tieout.scrub.options import CheckOptions
from tieout.scrub.planning import PlannedTable
from tieout.scrub.units import Unit
from tieout.scrub.validity.own import OWN, own_checked
from tieout.scrub.validity.values import ValueChecks

Check = Callable[[PlannedTable, Unit], Iterator[Checked]]

_OF_THE_TABLE = (AccessError, BusyError, MissingObjectError, ReadError, UnsupportedError)


@dataclass(frozen=True)
class Found:
    """What there is to say of one index. `order` is None where nothing tells it."""

    compared: Compared
    order: OrderFound | None
    key: tuple[str, ...]
    table_evidence: str
    seconds: float


@dataclass
class TableChecks:
    spark: SparkSession
    checker: Checker
    options: CheckOptions
    ledger: Ledger

    def run(self, planned: PlannedTable) -> Iterator[Checked]:
        families: dict[Family, Check] = {
            Family.INDEX: self._indexes,
            Family.CONSTRAINT: self._constraints,
            Family.VALIDITY: self._values,
        }
        for family, check in families.items():
            if family in planned.families:
                made = partial(self._made, family, check, planned)
                yield from self.ledger.checked(str(planned.table.name), family, made)

    def _made(self, family: Family, check: Check, planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        """What keeps one table from being read is no reason to leave the others; a server that is gone is."""
        if planned.undescribed is not None:
            yield not_checked(family, planned.table, None, planned.undescribed)
            return
        try:
            yield from check(planned, unit)
        except _OF_THE_TABLE as error:
            yield not_checked(family, planned.table, None, str(error))

    def _constraints(self, planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        yield from ConstraintChecks(self.spark, self.checker, self.options, unit.rest).run(planned.constraints)

    def _values(self, planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        yield from ValueChecks(self.spark, self.checker, self.options, unit.rest).run(
            planned.table, _key(planned.table)
        )

    def last(self, planned: Sequence[PlannedTable]) -> Iterator[Checked]:
        """What is left for the end: the engine's own checker. On some engines, what it finds can't be read any more."""
        for each in planned:
            if Family.VALIDITY in each.families and self.options.engine_checker != EngineChecker.NONE:
                self.ledger.rest(0)
                try:
                    yield own_checked(self.checker, each.table, self.options)
                except _OF_THE_TABLE as error:
                    yield not_checked(Family.VALIDITY, each.table, OWN, str(error))

    def _indexes(self, planned: PlannedTable, unit: Unit) -> Iterator[Checked]:
        if planned.unlisted is not None:
            yield not_checked(Family.INDEX, planned.table, None, planned.unlisted)
        readable: list[ReadableIndex] = []
        with kept_open():
            paths = [Unreadable(i.unchecked) if i.unchecked else self.checker.index_path(i) for i in planned.indexes]
        for index, path in zip(planned.indexes, paths, strict=True):
            if isinstance(path, Unreadable):
                yield not_checked(Family.INDEX, planned.table, index.name, path.reason)
            else:
                readable.append(ReadableIndex(index, path))
        for addressed in (True, False):
            alike = [index for index in readable if bool(index.path.address) is addressed]
            if alike:
                yield from self._compared(planned.table, alike, unit, addressed=addressed)

    def _compared(
        self, table: Table, readable: Sequence[ReadableIndex], unit: Unit, *, addressed: bool
    ) -> Iterator[Checked]:
        infos = [index.info for index in readable]
        key = _key(table)
        read, described = table_columns(infos), table_columns(infos, key)
        paths = [self.checker.table_path(table, each.columns, addressed=addressed) for each in (read, described)]
        for path in paths:
            if isinstance(path, Unreadable):
                for info in infos:
                    yield not_checked(Family.INDEX, table, info.name, path.reason)
                return
        started = time.monotonic()
        indexes = TableIndexes(_sure(paths[0]), read, _sure(paths[1]), described, readable)
        compared = IndexComparison(self.spark, indexes, self.options, unit).run()
        paths_through = [index.path for index in readable]
        orders = find_disorder(self.spark, paths_through, unit.rest, self.options.recheck_after)
        seconds = time.monotonic() - started
        for number, (index, each, order) in enumerate(zip(readable, compared, orders, strict=True)):
            if isinstance(index.path, Follows) and each.mismatches:
                projection = described.projections[number]
                each.mismatches = followed(index.path, index.info, described, projection, each.mismatches)
            found = Found(each, order, tuple(column.name for column in key), indexes.path.evidence, seconds)
            yield self._checked(index, found)

    def _checked(self, index: ReadableIndex, found: Found) -> Checked:
        info, compared, order = index.info, found.compared, found.order
        if compared.error is not None:
            return not_checked(Family.INDEX, info.table, info.name, str(compared.error))
        classifier = Classifier(self.checker.database, info, found.key, self.checker.address_text)
        mismatches = sorted(compared.mismatches, key=_by_address)
        failures = tuple(failure for each in mismatches for failure in classifier.failures(each))
        if order is not None:
            failures += tuple(order_failure(self.checker.database, info, each) for each in order.disorders)
        status, reason = Status.FAILURES if failures else Status.OK, None
        if compared.unsettled:
            reason = f"at {plural(compared.unsettled, 'place')} something else was wrong at every look"
            status = status if failures else Status.NOT_CHECKED
        unseen = None if failures else index.path.unseen(compared.entries)
        if unseen is not None:
            status, reason = Status.NOT_CHECKED, unseen
        if order and order.error and not failures:
            status, reason = Status.NOT_CHECKED, f"its order can't be told: {order.error}"
        if compared.cut or (order and order.cut):
            reason = f"looked at {MOST if compared.cut else MOST_DISORDERS:,} places that are wrong: there may be more"
        result = CheckResult(
            Family.INDEX,
            str(info.table.name),
            info.name,
            status,
            reason,
            compared.rows,
            len(failures),
            f"{found.table_evidence}; {index.path.evidence}{'' if order else '; its order is not checked'}",
            found.seconds,
        )
        return Checked(result, failures)


def _by_address(mismatch: Mismatch) -> list[tuple[bool, int, str]]:
    """Numbers by their size, before all else."""
    parts = [part or "" for part in mismatch.address or ()]
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _sure(path: TablePath | Unreadable) -> TablePath:
    assert not isinstance(path, Unreadable)
    return path


def _key(table: Table) -> list[ScanColumn]:
    """The columns that rows are called by; none if one of them can't be read exactly."""
    columns = [table.column(name) for name in table.key]
    kinds = [common_kind(column.type, column.type) for column in columns]
    if not all(isinstance(kind, Kind) for kind in kinds):
        return []
    return [ScanColumn(c, kind) for c, kind in zip(columns, kinds, strict=True) if isinstance(kind, Kind)]
