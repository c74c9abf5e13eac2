"""Reads the log batches of CHECK … CHANGED: for each table, from the last checked position to the current end of its
log; and records the new positions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tieout.checks.changed.which_rows import ChangedTable, Wanted, changed_rows
from tieout.checks.planner import PlannedTable
from tieout.connectors.protocols.check import Checker, Literals
from tieout.connectors.protocols.move import Source
from tieout.errors import LogLostError, UnsupportedError
from tieout.meta import MetaStore
from tieout.meta.positions import CheckedTable
from tieout.model.check_statements import CheckStatement, Family
from tieout.model.failures import ChangedSpan
from tieout.model.positions import Position
from tieout.model.preflight import Severity
from tieout.model.row_changes import LogItem, Reached
from tieout.model.tables import TableName

_FIRST = "the table was not checked before"
FORGET = "run `tieout check URL --forget`: the next check reads all rows and starts a new log"


@dataclass(frozen=True)
class Span:
    """A table, with what changed between two positions of a log."""

    planned: PlannedTable
    log: str
    since: Position | None
    upto: Position
    changed: ChangedTable

    @property
    def reported(self) -> ChangedSpan:
        return ChangedSpan(
            str(self.planned.table.name),
            None if self.since is None else str(self.since),
            str(self.upto),
            self.changed.changes,
            len(self.changed),
            self.changed.whole,
        )


@dataclass
class ChangedLog:
    """The logs of one endpoint that checks of this `scope` have started."""

    store: MetaStore
    job: str
    endpoint: str
    scope: str
    source: Source
    checker: Checker

    def refused(self, planned: Sequence[PlannedTable]) -> dict[TableName, str]:
        """Why changes of some tables can't be followed. Raises UnsupportedError if no table's can."""
        found: dict[TableName, str] = {}
        tables = [each.table for each in planned]
        logs = [each.log for each in self._known().values()]
        # An existing log has no problems any more.
        for problem in self.source.problems(next(iter(logs), "check:new"), tables):
            if problem.severity is not Severity.PREVENTS:
                continue
            if problem.table is None:
                raise UnsupportedError(f"changes can't be followed: {problem.message}", problem.fix)
            name = next(table.name for table in tables if str(table.name) == problem.table)
            found.setdefault(name, f"its changes can't be followed: {problem.message} ({problem.fix})")
        return found

    def spans(self, planned: Sequence[PlannedTable]) -> Iterator[Span]:
        """The spans of these tables, in any order. Starts logs for tables that have none."""
        known = self._known()
        new: list[PlannedTable] = []
        begun: dict[tuple[str, str], list[PlannedTable]] = defaultdict(list)
        for each in planned:
            kept = known.get(str(each.table.name))
            if kept is None or kept.position is None:
                new.append(each)
            else:
                begun[kept.log, kept.position].append(each)
        ends: dict[str, Position] = {}
        for (log, position), tables in begun.items():
            spans, anew = self._read(log, Position(position), tables, ends)
            yield from spans
            new += anew
        if new:
            yield from self._begun(new)

    def _begun(self, planned: Sequence[PlannedTable]) -> Iterator[Span]:
        names = [each.table.name for each in planned]
        self._drop_empty([str(name) for name in names])
        log = self.store.checked.begin(self.job, self.endpoint, self.scope, [str(name) for name in names])
        start = self.source.begin_log(log, names)
        for each in planned:
            yield Span(each, log, None, start, ChangedTable(each.table, whole=_FIRST))

    def _read(
        self, log: str, since: Position, planned: Sequence[PlannedTable], ends: dict[str, Position]
    ) -> tuple[list[Span], list[PlannedTable]]:
        """The spans from a position to the current end of the log; and the tables that were replaced since."""
        names = [each.table.name for each in planned]
        reader = self.source.log(log)
        try:
            since = reader.resume(since)
            replaced = reader.coverage(names).reasons
            # One end for all tables of a log: what is checked together stays together.
            upto = ends.setdefault(log, reader.now())
            wanted = {each.table.name: _wanted(each, planned) for each in planned}
            items = _Read(reader.read(since, upto, frozenset(names)))
            found = changed_rows(items, [each.table for each in planned], wanted, self.checker)
            upto = items.reached.with_commit_of(since)
        except LogLostError as error:
            raise LogLostError(error.message, FORGET) from None
        spans = [
            Span(each, log, since, upto, found[each.table.name]) for each in planned if each.table.name not in replaced
        ]
        return spans, [each for each in planned if each.table.name in replaced]

    def gone(self, span: Span) -> set[Literals]:
        """The keys of rows that were deleted since the span was read."""
        if span.since is None:
            return set()
        reader, table = self.source.log(span.log), span.planned.table
        items = reader.read(span.upto, reader.now(), frozenset([table.name]))
        return changed_rows(items, [table], {table.name: Wanted()}, self.checker)[table.name].gone()

    def keep(self, spans: Sequence[Span]) -> None:
        """Records the positions: changes before them are not read again, and the source may forget them."""
        for log in {span.log for span in spans}:
            positions = {str(span.planned.table.name): span.upto.text for span in spans if span.log == log}
            self.store.checked.keep(self.job, log, positions)
        known = self._known().values()
        for log in {span.log for span in spans}:
            kept = [each.position for each in known if each.log == log]
            done = [Position(text) for text in kept if text is not None]
            if len(done) == len(kept):
                self.source.log(log).confirm(min(done, key=lambda position: position.place))

    def _drop_empty(self, tables: Sequence[str]) -> None:
        """Drops logs that cover only these tables: their logs start over."""
        known = self._known()
        logs = {known[table].log for table in tables if table in known}
        for log in logs - {each.log for name, each in known.items() if name not in tables}:
            self.source.drop_task(log)

    def _known(self) -> dict[str, CheckedTable]:
        return self.store.checked.of(self.endpoint, self.scope)


class _Read:
    """The items of a log; after the last one, `reached` is where they end, with what proves it later."""

    reached: Position

    def __init__(self, items: Iterable[LogItem]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[LogItem]:
        for item in self._items:
            if isinstance(item, Reached):
                self.reached = item.position
            yield item


def scope_of(statement: CheckStatement) -> str:
    """What a statement checks of each table: it does not answer for a statement with another scope."""
    named = {Family.INDEX: statement.indexes, Family.CONSTRAINT: statement.constraints}
    return json.dumps({family: sorted(named[family]) for family in sorted(statement.families & named.keys())})


def forget(store: MetaStore, endpoint: str, source: Source) -> list[str]:
    """Drops the logs of an endpoint, and returns the tables that they covered."""
    known = store.checked.all(endpoint)
    for log in dict.fromkeys(each.log for each in known):
        source.drop_task(log)
        store.checked.forget(log)
    return sorted({each.table for each in known})


def _wanted(planned: PlannedTable, all_planned: Sequence[PlannedTable]) -> Wanted:
    indexed = frozenset(column.name for index in planned.indexes for column in index.columns)
    references = [each.reference for other in all_planned for each in other.constraints if each.reference is not None]
    to_this = [reference for reference in references if reference.parent == planned.table.name]
    return Wanted(indexed, frozenset(column for reference in to_this for column in reference.columns))
