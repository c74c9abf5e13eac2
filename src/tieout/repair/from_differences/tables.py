"""The tables of a verification for its repair: which columns to write from where, and how to read rows exactly.

It opens both endpoints again and plans the comparison again, from the job's own request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.protocols.endpoint import Reader, Scan, ScanColumn, retry_cautiously
from tieout.connectors.protocols.repair import Reference, Row, Writer
from tieout.connectors.registry import open_endpoint, open_writer
from tieout.errors import UnsupportedError, UsageError
from tieout.meta import Job, JobKind, MetaStore
from tieout.model.canonical_kinds import Form, Kind, common_kind
from tieout.model.documents import request_from_document
from tieout.model.keys import Key
from tieout.model.redaction import values_hidden
from tieout.model.requests import Meaning
from tieout.model.tables import Column, Table
from tieout.model.truncated import is_whole
from tieout.repair.rows import Found, look_up
from tieout.verification.plan import PlannedTable, TablePlan
from tieout.verification.plan_tables import plan_tables
from tieout.verification.rows import look_up_rows
from tieout.verification.transformed_plan import is_for_spark

_SPELT = {
    Form.DATE,
    Form.TIMESTAMP,
    Form.TIME,
    Form.UUID,
    Form.JSON,
    Form.ARRAY,
    Form.JSON_ARRAY,
    Form.NUMBER,
    Form.SET,
}
"""Forms in which one value has several spellings."""


@dataclass(frozen=True, slots=True)
class Fill:
    """A column of the target to write from the source, and its column indexes in the two wide scans.

    `kind` is the form of the written text: the exact one where both sides have the same type, else that of the
    comparison. `compared` is the place of its pair; None: it was not compared; only new rows get it.
    """

    column: Column
    kind: Kind
    source: int
    target: int
    compared: int | None


@dataclass(frozen=True)
class RepairTable:
    """A table that can be repaired. `name` is the source's, as differences have it.

    The wide scans begin with the compared columns, as planned; what is written, and on the target every column
    in its exact form (`exact`: its place), come after. They have no condition: a row outside it is seen.
    `references` are the foreign keys to the target's table.
    """

    name: str
    plan: TablePlan
    fills: tuple[Fill, ...]
    source: Scan
    target: Scan
    exact: Mapping[str, int]
    references: tuple[Reference, ...]

    @property
    def table(self) -> Table:
        return self.target.table

    @property
    def key(self) -> tuple[str, ...]:
        """The key's columns on the target."""
        return tuple(column.name for column in self.target.key_columns)

    @cached_property
    def filled(self) -> Set[str]:
        """The target's columns that a repair writes."""
        return {fill.column.name for fill in self.fills}

    @property
    def losing(self) -> tuple[Reference, ...]:
        """The foreign keys by which a DELETE would also delete rows of other tables."""
        return tuple(reference for reference in self.references if reference.loses)

    @property
    def computed(self) -> tuple[str, ...]:
        """Columns compared by the user's SQL on the target: the value to write there is unknown."""
        return tuple(c.name for c in self.plan.target.scan.columns if c.expression and not c.column.generated)


_AGAIN = "to repair it, move its rows again"
_WITHOUT_SPARK = (
    "to repair it, verify it without the task (--source, --target) with --where and --expr in the engines' own SQL,"
    " and repair that"
)


def repair_table(
    planned: PlannedTable, writer: Writer, *, same_engine: bool, moved: bool = True, undoes: bool = False
) -> RepairTable | str:
    """How to repair the table, or the reason why it can't be repaired. `moved`: its task is moved. `undoes`: only to
    undo what an earlier version wrote, which knew fewer reasons.
    """
    plan = planned.plan
    if is_for_spark(planned):
        return f"Spark filters, computes or merges its rows, as the task says; {_AGAIN if moved else _WITHOUT_SPARK}"
    if plan is None:
        return planned.failure or "the table is only on one side"
    if planned.computes and not undoes:
        return "expressions compute columns of it that were not compared: the values to write there are unknown"
    if not plan.key:
        return "it has no key, so a row can't be identified"
    if any(side.scan.columns[place].expression for side in (plan.source, plan.target) for place in plan.key):
        return "an expression computes its key, so it can't look up rows"
    if any(place in plan.tolerances for place in plan.key):
        return "its key has a tolerance, so a row of one side may match several of the other"
    return _Wide(plan, writer, same_engine, frozenset() if undoes else planned.unfilled).table()


class _Wide:
    """Widens the two scans of a plan, column by column."""

    def __init__(self, plan: TablePlan, writer: Writer, same_engine: bool, unfilled: frozenset[str]) -> None:
        self._plan = plan
        self._unfilled = unfilled
        self._writer = writer
        self._same_engine = same_engine
        self._source = list(plan.source.scan.columns)
        self._target = list(plan.target.scan.columns)

    def table(self) -> RepairTable:
        plan = self._plan
        columns = plan.target.scan.table.columns
        exact = {column.name: self._add(self._target, column, self._writer.exact(column)) for column in columns}
        compared = {column.name: place for place, column in enumerate(plan.target.scan.columns)}
        fills = []
        for column in columns:
            # A task does not move what it leaves out, and neither does a repair.
            if not column.generated and column.name not in self._unfilled:
                fill = self._fill(column, compared.get(column.name), exact[column.name])
                fills += [fill] if fill else []
        return RepairTable(
            plan.name,
            plan,
            tuple(fills),
            replace(plan.source.scan, columns=tuple(self._source), where=None),
            replace(plan.target.scan, columns=tuple(self._target), where=None),
            exact,
            tuple(self._writer.references(plan.target.scan.table)),
        )

    def _fill(self, column: Column, compared: int | None, exact: int) -> Fill | None:
        if compared is None:
            return self._uncompared(column, exact)
        left, right = self._plan.source.scan.columns[compared], self._plan.target.scan.columns[compared]
        if right.expression:
            return None
        if left.expression is None and self._same_type(left.column, column):
            kind = self._writer.exact(column)
            return Fill(column, kind, self._add(self._source, left.column, kind), exact, compared)
        return Fill(column, right.kind, compared, compared, compared)

    def _uncompared(self, column: Column, exact: int) -> Fill | None:
        left = _named(column.name, self._plan.source.scan.table.columns)
        if left is None:
            return None
        if self._same_type(left, column):
            kind = self._writer.exact(column)
            return Fill(column, kind, self._add(self._source, left, kind), exact, None)
        common = common_kind(left.type, column.type)
        if not isinstance(common, Kind):
            return None
        return Fill(
            column, common, self._add(self._source, left, common), self._add(self._target, column, common), None
        )

    def _same_type(self, left: Column, right: Column) -> bool:
        return self._same_engine and left.type.native == right.type.native

    @staticmethod
    def _add(columns: list[ScanColumn], column: Column, kind: Kind) -> int:
        columns.append(ScanColumn(column, kind))
        return len(columns) - 1


def _named(name: str, columns: Sequence[Column]) -> Column | None:
    found = [column for column in columns if column.name == name]
    folded = found or [column for column in columns if column.name.casefold() == name.casefold()]
    return folded[0] if len(folded) == 1 else None


def key_of(table: RepairTable, names: Mapping[str, str | None]) -> Key | None:
    """The key of a difference or of a change; None if it can't find a row: a part is NULL, or truncated."""
    texts = [names.get(name) for name in table.plan.key_names]
    if None in texts or not is_whole(names):
        return None
    return tuple(text for text in texts if text is not None)


OUTSIDE = "the source has a row with this key outside the condition"


def on_source(table: RepairTable, keys: Sequence[Key]) -> Found:
    """The source's rows. Keys of those outside the verification's condition are in `failed`: the target may have a row
    for one of them, with values that are to be corrected.
    """
    found = _in_every_spelling(_of_source(table, table.source, keys), table.plan.source.reader, keys)
    if table.plan.source.scan.where is None or not found.places:
        return found
    inside = _of_source(table, table.plan.source.scan, list(found.places)).places
    outside = dict.fromkeys(found.places.keys() - inside.keys(), OUTSIDE)
    return replace(found, failed={**outside, **found.failed})


def _of_source(table: RepairTable, scan: Scan, keys: Sequence[Key]) -> Found:
    def look(some: Sequence[Key]) -> list[pa.RecordBatch]:
        return retry_cautiously(table.plan.source.reader, lambda reader: list(reader.lookup(scan, some)))

    return look_up(scan, keys, look)


def on_target(table: RepairTable, writer: Writer, keys: Sequence[Key], *, lock: bool = False) -> Found:
    found = look_up(table.target, keys, lambda some: writer.rows(table.target, some, lock=lock))
    return _in_every_spelling(found, table.plan.target.reader, keys)


def _in_every_spelling(found: Found, reader: Reader, keys: Sequence[Key]) -> Found:
    """The same, with keys in `failed` that a row has in another spelling, so that the literal did not find it.

    JSON or a date in a text has many spellings. The repair inserts or deletes what is not found: it must be absent.
    """
    scan, absent = found.scan, [key for key in keys if key not in found.places and key not in found.failed]
    if not absent or reader.finds(scan) or not any(c.kind.form in _SPELT for c in scan.key_columns):
        return found
    keys_alone = replace(scan, columns=scan.key_columns, key=tuple(range(len(scan.key))), ordered_by=())
    rows = look_up_rows(reader, keys_alone, absent)
    spelt = {key for row in range(len(rows)) if (key := rows.key(row, keys_alone.key)) is not None}
    return replace(found, failed={**found.failed, **dict.fromkeys(spelt, "a row has it in another spelling")})


def within_condition(table: RepairTable, writer: Writer, keys: Sequence[Key]) -> set[Key]:
    """The target's rows that fulfil the verification's condition."""
    scan = table.plan.target.scan
    return set(look_up(scan, keys, lambda some: writer.rows(scan, some, lock=False)).places)


def exact_row(table: RepairTable, found: Found, row: int) -> Row:
    """Every column of a target's row, so that undo can restore it."""
    return {name: found.text(row, place) for name, place in table.exact.items()}


@dataclass(frozen=True)
class Sides:
    """The tables that can be repaired, by name, parents before the tables that refer to them; why others can't.

    `redacts`: the verification stored no values, and messages about rows quote none.
    """

    writer: Writer
    tables: Mapping[str, RepairTable]
    refused: Mapping[str, str]
    redacts: bool = False


@contextmanager
def opened(job: Job, source_url: EndpointUrl, target_url: EndpointUrl, *, undoes: bool = False) -> Iterator[Sides]:
    """Connects to both sides of a verification. The URLs must name the same databases; the user may be another."""
    _check_place("source", job.source, source_url)
    _check_place("target", job.target or "", target_url)
    request = request_from_document(job.request, source_url.reveal(), target_url.reveal())
    with ExitStack() as stack:
        stack.enter_context(values_hidden(request.options.redact_values))
        source = stack.enter_context(closing(open_endpoint(source_url)))
        target = stack.enter_context(closing(open_endpoint(target_url)))
        if not target.capabilities.writable:
            raise UnsupportedError(f"{target_url.redacted()} is read-only for Tieout, so it can't be repaired")
        writer = stack.enter_context(closing(open_writer(target_url)))
        same_engine = source.capabilities.family == target.capabilities.family
        moved = request.meaning is Meaning.MOVED
        tables: dict[str, RepairTable] = {}
        refused: dict[str, str] = {}
        for planned in plan_tables(source, target, request, began=True):
            name = planned.name
            found = repair_table(planned, writer, same_engine=same_engine, moved=moved, undoes=undoes)
            if name in tables or name in refused:
                refused[name] = "differences of several pairs of tables have its name; verify each pair alone"
            elif isinstance(found, str):
                refused |= {name: found, planned.source_name or name: found}
            else:
                tables[name] = found
        for name in refused.keys() & tables.keys():
            del tables[name]  # two tables whose differences have one name
        ordered = {table.name: table for table in parents_first(list(tables.values()))}
        yield Sides(writer, ordered, refused, request.options.redact_values)


def verification(store: MetaStore, reference: str) -> Job:
    """The job that a reference means; `last` is the last verification, even if other jobs ran after it."""
    if reference == "last":
        for job in store.jobs.list(limit=1000):
            if job.kind is JobKind.VERIFICATION:
                return job
        raise UsageError("there is no verification to repair from", "run `tieout verify` first")
    job = store.jobs.get(reference)
    if job.kind is not JobKind.VERIFICATION:
        raise UsageError(f"job {job.id} is a {job.kind}, not a verification", "see `tieout jobs list`")
    return job


def parents_first(tables: Sequence[RepairTable]) -> list[RepairTable]:
    """Tables before those that refer to them; in a circle of references, the order they came in."""
    left = list(tables)
    ordered: list[RepairTable] = []
    while left:
        children = {r.child for t in left for r in t.references if r.child != t.table.name}
        free = [table for table in left if table.table.name not in children] or left[:1]
        ordered += free
        left = [table for table in left if table not in free]
    return ordered


def _check_place(side: str, redacted: str, url: EndpointUrl) -> None:
    known = parse_url(redacted)
    if not known.is_same_place(url):
        raise UsageError(f"the job's {side} was {redacted}, not {url.redacted()}", "pass the URL of the same database")
