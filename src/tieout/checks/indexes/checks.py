"""Checks the indexes of one table: reads the table and each index by its own path, compares them, and reports
failures.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.checks.checked import Checked, Unit, not_checked
from tieout.checks.indexes.classify import Classifier, entries_hold_key, followed
from tieout.checks.indexes.compare import MOST, Compared, IndexComparison, Mismatch
from tieout.checks.indexes.digest_stage import ReadableIndex, TableIndexes
from tieout.checks.indexes.order import OrderFound, find_disorder, order_failure
from tieout.checks.indexes.projection import table_columns
from tieout.checks.indexes.unfound_rows import LookedUp, find_unfound, unfound_failures
from tieout.checks.options import CheckOptions
from tieout.connectors.protocols.check import Checker, IndexInfo
from tieout.connectors.protocols.paths import FollowsEntries, NotCheckable, TablePath, exact_key
from tieout.connectors.sql.connection_cache import kept_open
from tieout.connectors.sql.index_scan import MOST as MOST_DISORDERS
from tieout.errors import DamagedIndexError
from tieout.model.check_statements import Family
from tieout.model.failures import CheckResult, Failure, FailureKind, Status
from tieout.model.tables import Table
from tieout.runtime.recheck import RecheckPolicy
from tieout.wording import plural

ORDER_UNKNOWN = "its order is not checked"


@dataclass(frozen=True)
class Found:
    """All findings about one index. `order` is None where the engine does not show it, `looked_up` if no lookup is
    needed.
    """

    compared: Compared
    order: OrderFound | None
    looked_up: LookedUp | None
    key: tuple[str, ...]
    table_evidence: str
    seconds: float


@dataclass
class IndexChecks:
    spark: SparkSession
    checker: Checker
    options: CheckOptions
    unit: Unit

    def run(self, table: Table, indexes: Sequence[IndexInfo]) -> Iterator[Checked]:
        readable: list[ReadableIndex] = []
        with kept_open():
            paths = [NotCheckable(i.unchecked) if i.unchecked else self.checker.index_path(i) for i in indexes]
        for index, path in zip(indexes, paths, strict=True):
            if isinstance(path, NotCheckable):
                yield not_checked(Family.INDEX, table, index.name, path.reason)
            else:
                readable.append(ReadableIndex(index, path))
        for addressed in (True, False):
            alike = [index for index in readable if bool(index.path.address) is addressed]
            if alike:
                yield from self._compared(table, alike, addressed=addressed)

    def _compared(self, table: Table, readable: Sequence[ReadableIndex], *, addressed: bool) -> Iterator[Checked]:
        infos = [index.info for index in readable]
        key = exact_key(table)
        read, described = table_columns(infos), table_columns(infos, key)
        paths = [self.checker.table_path(table, each.columns, addressed=addressed) for each in (read, described)]
        for path in paths:
            if isinstance(path, NotCheckable):
                for info in infos:
                    yield not_checked(Family.INDEX, table, info.name, path.reason)
                return
        started = time.monotonic()
        indexes = TableIndexes(_sure(paths[0]), read, _sure(paths[1]), described, readable)
        compared = IndexComparison(self.spark, indexes, self.options, self.unit).run()
        paths_through = [index.path for index in readable]
        looking = time.monotonic()
        after, times = self.options.recheck_after, self.options.recheck_times
        orders = find_disorder(
            self.spark, paths_through, RecheckPolicy(after, max(1, times), grows=True), self.unit.rest
        )
        looked_up = find_unfound(self.spark, paths_through, after, self.unit.rest)
        looked_at = zip(compared, orders, looked_up, strict=True)
        self._slow_down(looking, sum(each.entries for each, *looks in looked_at if any(looks)))
        seconds = time.monotonic() - started
        for number, (index, each) in enumerate(zip(readable, compared, strict=True)):
            if isinstance(index.path, FollowsEntries) and each.mismatches:
                projection = described.projections[number]
                each.mismatches = followed(index.path, index.info, described, projection, each.mismatches)
            names = tuple(column.name for column in key)
            found = Found(each, orders[number], looked_up[number], names, indexes.path.evidence, seconds)
            yield self._checked(index, found)

    def _slow_down(self, started: float, rows: int) -> None:
        """Keeps the rate limit after statements that can't be throttled: waits for as long as they were too fast."""
        if self.options.max_rows_per_second:
            self.unit.rest(max(0.0, rows / self.options.max_rows_per_second - (time.monotonic() - started)))

    def _checked(self, index: ReadableIndex, found: Found) -> Checked:
        info, compared, order, looked_up = index.info, found.compared, found.order, found.looked_up
        if isinstance(compared.error, DamagedIndexError):
            return self._damaged(index, found, compared.error)
        if compared.error is not None:
            return not_checked(Family.INDEX, info.table, info.name, str(compared.error))
        mismatches = sorted(compared.mismatches, key=by_address)
        classifier = Classifier(
            self.checker.database,
            info,
            found.key,
            self.checker.address_text,
            addresses_are_keys=bool(mismatches) and entries_hold_key(self.checker, info.table, index.path.address),
        )
        failures = tuple(failure for each in mismatches for failure in classifier.failures(each))
        if order is not None:
            failures += tuple(order_failure(self.checker.database, info, each) for each in order.disorders)
        if looked_up is not None:
            known = {mismatch.address for mismatch in mismatches}
            failures += tuple(
                unfound_failures(self.checker.database, info, looked_up.rows, known, self.checker.address_text)
            )
        reason = self._doubt(index, found, has_failures=bool(failures))
        status = Status.FAILURES if failures else Status.NOT_CHECKED if reason else Status.OK
        result = CheckResult(
            Family.INDEX,
            str(info.table.name),
            info.name,
            status,
            reason,
            compared.rows,
            len(failures),
            f"{found.table_evidence}; {index.path.evidence}{'' if order or looked_up else f'; {ORDER_UNKNOWN}'}",
            found.seconds,
            cut=reason is not None,
        )
        return Checked(result, failures)

    def _doubt(self, index: ReadableIndex, found: Found, *, has_failures: bool) -> str | None:
        """Why there may be more failures than were found; None if there are not."""
        compared, order, looked_up = found.compared, found.order, found.looked_up
        if compared.cut or (order and order.cut) or (looked_up and looked_up.cut):
            most = MOST if compared.cut else MOST_DISORDERS
            return f"listed the first {most:,} failures: there may be more"
        if looked_up and looked_up.error:
            return f"the engine can't look up rows through it: {looked_up.error}"
        if looked_up and looked_up.unstable:
            return "the rows that lookups missed changed on every recheck (the table is busy)"
        if order and order.error:
            return f"the engine can't read the order of its entries: {order.error}"
        if order and order.unstable:
            return "the entries in the wrong order changed on every recheck (the table is busy)"
        if compared.unstable:
            return f"{plural(compared.unstable, 'failure')} changed on every recheck (the table is busy)"
        return None if has_failures else index.path.coverage_gap(compared.entries)

    def _damaged(self, index: ReadableIndex, found: Found, error: DamagedIndexError) -> Checked:
        """The result for an index that the server can't read to its end: what else is wrong is unknown."""
        info, reason = index.info, error.message.rpartition(": ")[2]
        failure = Failure(
            FailureKind.INVALID_INDEX,
            self.checker.database,
            str(info.table.name),
            info.column_names,
            index=info.name,
            details={"reason": reason},
        )
        evidence = f"{found.table_evidence}; {index.path.evidence}"
        result = CheckResult(
            Family.INDEX,
            str(info.table.name),
            info.name,
            Status.FAILURES,
            "the server could not read the whole index: there may be more failures",
            found.compared.rows,
            1,
            evidence,
            found.seconds,
            cut=True,
        )
        return Checked(result, (failure,))


def by_address(mismatch: Mismatch) -> list[tuple[bool, int, str]]:
    """Sorts numbers by their size, before all other text."""
    parts = [part or "" for part in mismatch.address or ()]
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _sure(path: TablePath | NotCheckable) -> TablePath:
    assert not isinstance(path, NotCheckable)
    return path
