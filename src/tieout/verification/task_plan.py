"""Plans the verification of a task: its conditions and expressions are Spark SQL.

Where a task is moved, its own routes say which tables' rows the target should hold, in which columns and by which key:
a mover, a preflight and a verification agree. Tables without conditions, expressions and partners are compared as those
of two endpoints are.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import TYPE_CHECKING

from tieout.canonical.bucket_digests import bucket_count
from tieout.connectors.protocols.endpoint import Endpoint, Reader, Scan, ScanColumn
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.errors import AccessError, MissingObjectError, ReadError, TieoutError, UsageError
from tieout.model.canonical_kinds import Incomparable, Kind, common_kind
from tieout.model.moves import Shape
from tieout.model.redaction import Redaction
from tieout.model.requests import Meaning, MoveRequest, TableRequest, VerifyRequest
from tieout.model.results import Explanation, SchemaFinding, Strategy, UnverifiedColumn
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType
from tieout.tasks.routing import Matched, Route, identifying, match_columns, routes_and_rest, uncomputable
from tieout.tasks.table_matching import NamePair, names_of, pair_tables
from tieout.tasks.transforms import condition_of, nondeterministic_part, projection, renamed_column
from tieout.verification.columns import (
    ColumnPair,
    SchemaComparison,
    compare_schemas,
    differences_of,
    in_names_of_source,
    only_on,
    parsed_tolerance,
)
from tieout.verification.holding import COMPUTABLE, unknown_reading
from tieout.verification.parts import NOT_NAMED, Part, TransformedReader, named_column
from tieout.verification.plan import (
    NOTHING_IN_COMMON,
    PlannedTable,
    Side,
    TablePlan,
    alignment,
    described,
    plan_compared,
    plan_pair,
    rangeable,
    refuse_unknown_columns,
)
from tieout.verification.typed_columns import TypedColumns, narrowed, typed_request

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Described = Mapping[TableName, Table | TieoutError]


@dataclass(frozen=True)
class Content:
    """What one table contributes to a side: its columns as they are and computed ones, by their place among those that
    are compared; and the task's condition. `where` is the engine's own SQL.
    """

    table: Table
    plain: Mapping[int, ScanColumn]
    computed: Mapping[int, tuple[Column, str]]
    condition: str | None
    where: str | None


_LEFT_OUT = "the task leaves it out, so that nothing of it is compared"


class _Unverifiable(Exception):
    """Why a table has no plan."""


@dataclass
class TaskPlanner:
    """A request with a meaning that is not the engines'."""

    source: Endpoint
    target: Endpoint
    request: VerifyRequest
    session: Callable[[], SparkSession] | None
    seed: int | None
    _types: dict[Shape | None, LogicalType] = field(default_factory=dict)
    """What Spark said of expressions: merged tables have the same."""

    def plan(self) -> list[PlannedTable]:
        return self._plan_moved() if self.request.meaning is Meaning.MOVED else self._plan_compared()

    def _plan_moved(self) -> list[PlannedTable]:
        found, rest = routes_and_rest(self.source, self.target, move_request(self.request))
        groups: dict[TableName, list[Route]] = {}
        for route in found:
            groups.setdefault(route.target, []).append(route)
        chosen = [group for group in groups.values() if self._is_chosen(group)]
        self._refuse_unknown_tables([*(name for group in groups.values() for name in _names(group)), *_targets(rest)])
        rest = [pair for pair in rest if self._is_named(_targets([pair])) and not self._is_excluded(_targets([pair]))]
        sources = described(self.source, [route.source for group in chosen for route in group if route.exists])
        targets = described(self.target, [group[0].target for group in chosen if group[0].exists])
        self._refuse_unknown_names([*sources.values(), *targets.values()])
        planned = [table for group in chosen for table in self._moved(group, sources, targets)]
        return [*planned, *(PlannedTable(pair) for pair in rest)]

    def _refuse_unknown_tables(self, names: Sequence[TableName]) -> None:
        """Raises UsageError for a typed table that the task does not have."""
        for typed in self.request.narrowing.tables:
            if not _matching(names, [typed]):
                known = dict.fromkeys(entry.source for entry in self.request.tables)
                raise UsageError(f"the task has no table {typed}", f"it has {', '.join(known) or 'other tables'}")

    def _refuse_unknown_names(self, found: Sequence[Table | TieoutError]) -> None:
        """Raises UsageError for a typed column that no table has."""
        typed = self.request.narrowing
        known = {name for table in found if isinstance(table, Table) for name in table.column_names}
        folded = {name.casefold() for name in known}
        for name in (*(typed.columns or ()), *typed.exclude_columns, *(typed.key or ()), *typed.tolerance):
            if known and name.casefold() not in folded:
                raise UsageError(f"no table of the task has a column {name}", f"they have {', '.join(sorted(known))}")

    def _is_chosen(self, group: Sequence[Route]) -> bool:
        """Whether what was typed leaves these tables in. Merged tables are compared together, or not at all."""
        excluded = [route.source for route in group if self._is_excluded([route.source])]
        if excluded and len(excluded) < len(group):
            raise UsageError(
                f"{excluded[0]} can't be left out alone: its rows are in {group[0].target} with those of other tables",
                "leave out all of them, or none",
            )
        return not excluded and self._is_named(_names(group))

    def _is_excluded(self, names: Sequence[TableName]) -> bool:
        return _matching(names, self.request.narrowing.exclude)

    def _is_named(self, names: Sequence[TableName]) -> bool:
        typed = self.request.narrowing.tables
        return not typed or _matching(names, typed)

    def _moved(self, group: Sequence[Route], sources: Described, targets: Described) -> list[PlannedTable]:
        """A route, or several whose rows are merged."""
        first = group[0]
        if not first.exists:
            return [PlannedTable(NamePair(route.source, None, route.request)) for route in group]
        merged = tuple(route.source for route in group) if len(group) > 1 else ()
        pair = NamePair(first.source, first.target, first.request)
        tables: list[Table] = []
        for found in (targets[first.target], *(sources[route.source] for route in group)):
            if isinstance(found, TieoutError):
                return [PlannedTable(pair, failure=str(found), merged=merged)]
            tables.append(found)
        target, *ours = tables
        if not merged and not _changes_rows(first.request):
            return [self._as_it_is(pair, (ours[0], target))]
        try:
            planned = self._transferred(pair, list(zip(group, ours, strict=True)), target)
        except _Unverifiable as error:
            planned = PlannedTable(pair, failure=str(error))
        except (AccessError, MissingObjectError, ReadError) as error:
            planned = PlannedTable(pair, failure=str(error))
        return [replace(planned, merged=merged)]

    def _as_it_is(self, pair: NamePair, tables: tuple[Table, Table]) -> PlannedTable:
        """A table whose rows all go over as they are, with what was typed."""
        narrowing = self.request.narrowing
        request = replace(
            pair.request,
            source_where=narrowing.source_where,
            target_where=narrowing.target_where,
            key=narrowing.key or pair.request.key,
            columns=narrowing.columns,
            exclude_columns=narrowing.exclude_columns,
            tolerance={**pair.request.tolerance, **narrowing.tolerance},
            expressions={},
        )
        pair = replace(pair, request=request)
        return plan_pair(self.source, self.target, pair, tables, self.request.options, self._own_seed, self._redaction)

    def _transferred(self, pair: NamePair, routed: Sequence[tuple[Route, Table]], target: Table) -> PlannedTable:
        try:
            _refuse_disagreeing([route for route, _ in routed])
            matches = [match_columns(route.request, table, target) for route, table in routed]
            problems = [each for route, table in routed for each in uncomputable(route.request, table, target)]
        except UsageError as error:
            # A table that a mover has stopped may have lost the column: the others are compared all the same.
            raise _Unverifiable(str(error)) from None
        if problems:
            raise _Unverifiable(f"{routed[0][1].name} to {target.name}: {'; '.join(dict.fromkeys(problems))}")
        comparison = self._compared_columns(routed, matches, target)
        if not comparison.pairs:
            return PlannedTable(pair, comparison, failure=NOTHING_IN_COMMON)
        narrowing = self.request.narrowing
        (route, table), *others = routed
        conditions = [condition_of(route.request) for route, _ in routed]
        target_where = route.request.target_where
        if not others and not matches[0].computed and conditions == [None] and target_where is None:
            where = narrowing.source_where, narrowing.target_where
            planned = plan_compared(
                self.source,
                self.target,
                pair,
                (table, target),
                comparison,
                where,
                self.request.options,
                self._own_seed,
                self._redaction,
            )
            return replace(planned, unfilled=frozenset(target.column_names) - matches[0].filled)
        contents = [
            self._content(table, matched, comparison, condition)
            for (_, table), matched, condition in zip(routed, matches, conditions, strict=True)
        ]
        theirs = Content(
            target,
            {place: ScanColumn(each.target, each.kind) for place, each in enumerate(comparison.pairs)},
            {},
            target_where,
            narrowing.target_where,
        )
        return self._planned(pair, comparison, (contents, [theirs]), is_merge=bool(others))

    def _content(self, table: Table, matched: Matched, comparison: SchemaComparison, condition: str | None) -> Content:
        plain = {found.name: column for column, found in matched.pairs}
        expressions = {column.name: expression for column, expression in matched.computed}
        places = list(enumerate(comparison.pairs))
        return Content(
            table,
            {n: ScanColumn(plain[each.target.name], each.kind) for n, each in places if each.target.name in plain},
            {n: (each.target, expressions[each.target.name]) for n, each in places if each.target.name in expressions},
            condition,
            self.request.narrowing.source_where,
        )

    def _compared_columns(
        self, routed: Sequence[tuple[Route, Table]], matches: Sequence[Matched], target: Table
    ) -> SchemaComparison:
        """The target's columns that the task fills, in the form in which they are compared."""
        request = routed[0][0].request
        typed = TypedColumns.of(self.request.narrowing, routed, matches, target)
        asked = self.request.narrowing.key or request.key
        key = asked or tuple(identifying(routed[0][1], target, matches[0]))
        wanted = typed.wanted(key)
        tolerances = typed.by_column({**request.tolerance, **self.request.narrowing.tolerance})
        findings: list[SchemaFinding] = []
        unverified: list[UnverifiedColumn] = []
        pairs: list[ColumnPair] = []
        for table, matched in zip((table for _, table in routed), matches, strict=True):
            of = f" of {table.name}" if len(routed) > 1 else ""
            findings += [
                SchemaFinding("column", f"is only on the source{of} ({each.type.native})", each.name, breaks=True)
                for each in matched.missing
                if each.name in wanted
            ]
        for column in target.columns:
            if column.name not in wanted:
                continue
            if not any(column.name in matched.filled for matched in matches):
                findings.append(self._unfilled(request, column))
                continue
            lacking = [t.name for (_, t), m in zip(routed, matches, strict=True) if column.name not in m.filled]
            tolerance = tolerances.get(column.name)
            found = f"{lacking[0]} does not fill it" if lacking else self._pair(column, routed, matches, tolerance)
            if isinstance(found, str):
                unverified.append(UnverifiedColumn(column.name, found))
                continue
            pairs.append(found)
            if found.source_expression is None and len(routed) == 1:
                findings += differences_of(found.source, found.target)
        told = {each.target.name for each in pairs} | {each.column for each in unverified}
        told |= {each.column for each in findings if each.breaks and each.column is not None}
        unverified += [UnverifiedColumn(name, _LEFT_OUT) for name in typed.untold(told)]
        named = {each.target.name: place for place, each in enumerate(pairs)}
        places = [next((named[each] for each in typed.chosen(name) if each in named), None) for name in key]
        if asked is None and any(place is None for place in places):
            places = []
        if None in places:
            missing = key[places.index(None)]
            raise UsageError(f"{target.name} has no comparable column {missing} for the key", "check --key")
        return SchemaComparison(
            tuple(pairs), tuple(p for p in places if p is not None), tuple(findings), tuple(unverified)
        )

    @staticmethod
    def _unfilled(request: TableRequest, column: Column) -> SchemaFinding:
        """A column that the task leaves to the target. It is a difference if the task chooses no columns."""
        if request.columns is None and not request.exclude_columns:
            return only_on("target", column)
        return SchemaFinding("column", "is not compared: the task does not fill it", column.name)

    def _pair(
        self,
        column: Column,
        routed: Sequence[tuple[Route, Table]],
        matches: Sequence[Matched],
        tolerance: str | None,
    ) -> ColumnPair | str:
        """How the rows of all sources compare in a column of the target, or why they can't."""
        allowed = None if tolerance is None else parsed_tolerance(column.name, tolerance)
        found: list[ColumnPair] = []
        for (_, table), matched in zip(routed, matches, strict=True):
            expression = next((text for each, text in matched.computed if each == column), None)
            if expression is None:
                source = next(each for each, there in matched.pairs if there == column)
            else:
                source = Column(column.name, column.type)
                if reason := _against_computing(column, expression) or self._unknown_reading(table, column, expression):
                    return reason
            exact = self.request.options.exact_scale and expression is None
            kind = common_kind(source.type, column.type, exact_scale=exact, tolerance=allowed)
            if isinstance(kind, Incomparable):
                return kind.reason
            found.append(ColumnPair(source, column, kind, expression))
        if len({each.kind for each in found}) > 1:
            return (
                f"the merged tables have it in different types: {', '.join(sorted({str(each.kind) for each in found}))}"
            )
        return found[0]

    def _unknown_reading(self, table: Table, column: Column, text: str) -> str | None:
        """Why nobody knows what the target's column holds of a computed value, unless the target itself says it."""
        if self._holder is not None or self.session is None:
            return None
        name = renamed_column(text, table)
        found = self._computed_by_spark(table, column, text) if name is None else table.column(name)
        return unknown_reading(found.type, column.type)

    @cached_property
    def _holder(self) -> Reader | None:
        """What knows how the target's columns hold values that have classes of their own."""
        classed = self.source.capabilities.classed and self.target.capabilities.classed
        return self.target.reader() if classed and self.request.meaning is Meaning.MOVED else None

    def _plan_compared(self) -> list[PlannedTable]:
        """Tables that nobody moves: each side has its own conditions and expressions."""
        tables = self.request.tables
        left = names_of(self.source, tables, of_target=False).without_own()
        right = names_of(self.target, tables, of_target=True).without_own()
        pairs = [pair for pair in pair_tables(left, right, tables) if not self._is_excluded(_either(pair))]
        sources = described(self.source, [pair.source for pair in pairs if pair.source and pair.target])
        targets = described(self.target, [pair.target for pair in pairs if pair.source and pair.target])
        refuse_unknown_columns(pairs, sources, targets)
        self._refuse_unknown_names([*sources.values(), *targets.values()])
        planned = []
        for pair in pairs:
            if pair.source is None or pair.target is None:
                planned.append(PlannedTable(pair))
                continue
            found = sources[pair.source], targets[pair.target]
            wrong = next((each for each in found if isinstance(each, TieoutError)), None)
            if wrong is not None:
                planned.append(PlannedTable(pair, failure=str(wrong)))
                continue
            assert isinstance(found[0], Table)
            assert isinstance(found[1], Table)
            try:
                planned.append(self._both_sides(pair, (found[0], found[1])))
            except _Unverifiable as error:
                planned.append(PlannedTable(pair, failure=str(error)))
            except (AccessError, MissingObjectError, ReadError) as error:
                planned.append(PlannedTable(pair, failure=str(error)))
        return planned

    def _both_sides(self, pair: NamePair, tables: tuple[Table, Table]) -> PlannedTable:
        """A table of a task that is not moved, narrowed to what was typed."""
        typed = in_names_of_source(typed_request(self.request.narrowing), *tables)
        request = in_names_of_source(pair.request, *tables)
        planned = self._planned_sides(pair, tables, request, typed)
        if planned.comparison is None:
            return planned
        found = planned.comparison
        told = {*(each.source.name for each in found.pairs), *(each.column for each in found.unverified)}
        told |= {each.column for each in found.findings if each.breaks and each.column is not None}
        known = {*tables[0].column_names, *tables[1].column_names} - {*told, *typed.exclude_columns}
        silent = [UnverifiedColumn(name, _LEFT_OUT) for name in typed.columns or () if name in known]
        return replace(planned, comparison=replace(found, unverified=(*found.unverified, *silent)))

    def _planned_sides(
        self, pair: NamePair, tables: tuple[Table, Table], request: TableRequest, narrowing: TableRequest
    ) -> PlannedTable:
        wheres = request.source_where or request.where, request.target_where or request.where
        typed = narrowing.source_where, narrowing.target_where
        wanted = narrowed(request, narrowing)
        if (any(wheres) or request.expressions) and self.session is not None:
            from tieout.spark.session import refuse_other_time_zone

            refuse_other_time_zone(self.session())
        frames = isinstance(self.source.reader(), SessionOnly), isinstance(self.target.reader(), SessionOnly)
        if all(frames) or not (any(wheres) or request.expressions):
            both = [_and(*each) for each in zip(wheres, typed, strict=True)]
            plain = replace(wanted, where=None, source_where=both[0], target_where=both[1])
            return plan_pair(
                self.source,
                self.target,
                replace(pair, request=plain),
                tables,
                self.request.options,
                self._own_seed,
                self._redaction,
            )
        types = partial(self._computed, tables, request, narrowing)
        comparison = compare_schemas(*tables, wanted, self.request.options, types)
        if not comparison.pairs:
            return PlannedTable(pair, comparison, failure=NOTHING_IN_COMMON)
        contents = []
        for side in (0, 1):
            plain_columns: dict[int, ScanColumn] = {}
            computed: dict[int, tuple[Column, str]] = {}
            for place, each in enumerate(comparison.pairs):
                column = (each.source, each.target)[side]
                text = (each.source_expression, each.target_expression)[side]
                is_typed = each.source.name in narrowing.expressions
                if text is None or is_typed or frames[side]:
                    plain_columns[place] = ScanColumn(column, each.kind, text)
                elif reason := _against_computing(column, text):
                    raise _Unverifiable(f"column {each.source.name}: {reason}")
                else:
                    computed[place] = column, text
            condition = None if frames[side] else wheres[side]
            where = _and(wheres[side], typed[side]) if frames[side] else typed[side]
            contents.append(Content(tables[side], plain_columns, computed, condition, where))
        return self._planned(pair, comparison, ([contents[0]], [contents[1]]), is_merge=False)

    def _computed(
        self, tables: tuple[Table, Table], request: TableRequest, narrowing: TableRequest, left: Column, right: Column
    ) -> tuple[Column, Column]:
        """The columns with the types that expressions give them: the task's by Spark, typed ones by the engines."""
        typed = narrowing.expressions.get(left.name)
        texts = typed or request.expressions.get(left.name, ("", ""))
        found = []
        for side, table, column, text in zip((self.source, self.target), tables, (left, right), texts, strict=True):
            if not text:
                found.append(column)
            elif typed or isinstance(side.reader(), SessionOnly):
                found.append(side.computed(table, column, text))
            else:
                found.append(self._computed_by_spark(table, column, text))
        return found[0], found[1]

    def _computed_by_spark(self, table: Table, column: Column, text: str) -> Column:
        if self.session is None:
            raise ReadError(f"{table.name}: only a Spark session knows the type of {text!r}")
        from tieout.spark.frames.transforms import computed
        from tieout.spark.frames.types import type_as_text

        transfer = projection(table, [(column, text)], None)
        if transfer.shape not in self._types:
            (found,) = computed(self.session(), transfer)
            self._types[transfer.shape] = type_as_text(found)
        return Column(column.name, self._types[transfer.shape], nullable=True)

    def _planned(
        self,
        pair: NamePair,
        comparison: SchemaComparison,
        contents: tuple[Sequence[Content], Sequence[Content]],
        *,
        is_merge: bool,
    ) -> PlannedTable:
        """Plans a pair of which Spark filters, computes or merges at least one side."""
        options = self.request.options
        if options.strategy in (Strategy.NATIVE, Strategy.PUSHDOWN) and not options.counts_only:
            failure = f"{options.strategy} can't be used: Spark filters or computes its rows (use --strategy auto)"
            return PlannedTable(pair, comparison, failure=failure)
        source = self._side(self.source, comparison, contents[0], is_source=True)
        target = self._side(self.target, comparison, contents[1], is_source=False)
        strategy = Strategy.COUNTS if options.counts_only else Strategy.PULL
        estimates = [side.scan.table.estimated_rows for side in (source, target)]
        plan = TablePlan(
            name=str(pair.target if is_merge else pair.source),
            source=source,
            target=target,
            columns=tuple(each.source.name for each in comparison.pairs),
            key=comparison.key,
            aligned=False,
            strategy=strategy,
            hash=None,
            buckets=bucket_count(max((rows for rows in estimates if rows is not None), default=None)),
            redaction=self._redaction,
        )
        how = "counts: only row counts were requested" if options.counts_only else "pull: executors hash the rows"
        reasons = (*self._reasons(contents), how, alignment(comparison, False))
        return PlannedTable(pair, comparison, plan, Explanation(strategy, "buckets", reasons))

    @staticmethod
    def _reasons(contents: tuple[Sequence[Content], Sequence[Content]]) -> list[str]:
        words = []
        for side, tables in zip(("source", "target"), contents, strict=True):
            conditions = dict.fromkeys(each.condition for each in tables if each.condition)
            computed = dict.fromkeys(column.name for each in tables for column, _ in each.computed.values())
            if len(tables) > 1:
                words.append(f"the rows of {len(tables)} tables of the {side} together")
            words += [f"Spark filters the {side}: {text}" for text in conditions]
            if computed:
                words.append(f"Spark computes on the {side}: {', '.join(computed)}")
        return words

    def _side(
        self, endpoint: Endpoint, comparison: SchemaComparison, contents: Sequence[Content], *, is_source: bool
    ) -> Side:
        pairs = comparison.pairs
        columns = tuple(
            ScanColumn(
                each.source if is_source else each.target,
                each.kind,
                each.source_expression if is_source else each.target_expression,
            )
            for each in pairs
        )
        (first, *others) = contents
        if not others and first.condition is None and not first.computed:
            columns = tuple(first.plain[place] for place in range(len(pairs)))
            ordered = () if isinstance(endpoint.reader(), SessionOnly) else rangeable(columns, comparison.key)
            return Side(endpoint.reader(), Scan(first.table, columns, comparison.key, ordered, first.where))
        parts = self._parts(endpoint, comparison, contents)
        estimates = [each.table.estimated_rows for each in contents]
        known = [rows for rows in estimates if rows is not None]
        table = replace(first.table, estimated_rows=sum(known) if len(known) == len(estimates) else None)
        return Side(TransformedReader(parts), Scan(table, columns, comparison.key))

    def _parts(self, endpoint: Endpoint, comparison: SchemaComparison, contents: Sequence[Content]) -> tuple[Part, ...]:
        kinds = tuple(each.kind for each in comparison.pairs)
        shapes: dict[object, int] = {}
        parts: list[Part] = []
        for content in contents:
            part = self._part(endpoint, comparison.key, kinds, content)
            shape = part.transfer.shape
            assert shape is not None
            alike = shape.where, shape.cells, shape.uses, tuple(column.type for column, _ in shape.reads)
            if alike not in shapes:
                self._refuse_wrong(part)
            parts.append(replace(part, projection=shapes.setdefault(alike, len(shapes))))
        return tuple(parts)

    def _refuse_wrong(self, part: Part) -> None:
        from tieout.spark.frames.transforms import refuse_wrong

        shape = part.transfer.shape
        assert shape is not None
        if (shape.where or shape.cells) and self.session is not None:
            refuse_wrong(self.session(), [part.transfer])

    def _part(self, endpoint: Endpoint, key: Sequence[int], kinds: tuple[Kind, ...], content: Content) -> Part:
        table = content.table
        transfer = projection(table, list(content.computed.values()), content.condition)
        shape: Shape | None = transfer.shape
        assert shape is not None
        for column, _ in shape.reads:
            if column.type.name in NOT_NAMED:
                raise _Unverifiable(f"an expression names {column.name}, and values of type {column.type} have no text")
        if content.condition is not None and (part := nondeterministic_part(content.condition)):
            raise _Unverifiable(f"{part} in its condition returns something else each time")
        plain = list(content.plain.items())
        named = [named_column(column, classed=self._holder is not None) for column, _ in shape.reads]
        places = {place: number for number, (place, _) in enumerate(plain)}
        computed = {place: ~number for number, place in enumerate(content.computed)}
        columns = (*(column for _, column in plain), *named)
        of_key = tuple(places[place] for place in key if place in places)
        scan = Scan(table, columns, of_key, rangeable(columns, of_key), content.where)
        reads = tuple(len(plain) + number for number in range(len(named)))
        holders = tuple(column for column, _ in content.computed.values())
        by_place = tuple((places | computed)[place] for place in range(len(kinds)))
        return Part(endpoint.reader(), scan, transfer, by_place, kinds, holders, reads, holder=self._holder)

    @cached_property
    def _own_seed(self) -> int:
        return secrets.randbits(62) if self.seed is None else self.seed

    @property
    def _redaction(self) -> Redaction | None:
        return Redaction() if self.request.options.redact_values else None


def move_request(request: VerifyRequest) -> MoveRequest:
    """The request to a mover that a verification is about, as far as routes depend on it."""
    # A mover refuses a key: it has its own. Here it only says how to match rows.
    tables = tuple(replace(table, key=None) for table in request.tables)
    return MoveRequest(request.task or "", request.source, request.target, tables)


def _either(pair: NamePair) -> list[TableName]:
    name = pair.source or pair.target
    return [] if name is None else [name]


def _changes_rows(request: TableRequest) -> bool:
    """Whether the target should hold anything but the source's rows as they are."""
    chosen = request.columns is not None or request.exclude_columns or request.expressions
    return bool(chosen or condition_of(request) or request.target_where)


def _refuse_disagreeing(merged: Sequence[Route]) -> None:
    """UsageError if entries of the task say different things about rows that they merge."""
    first, *others = merged
    for what in ("tolerance", "target_where", "key"):
        other = next((each for each in others if getattr(each.request, what) != getattr(first.request, what)), None)
        if other is not None:
            raise UsageError(f"{first.source} and {other.source} go to one table, each with another {what}")


def _names(group: Sequence[Route]) -> list[TableName]:
    return [*(route.source for route in group), group[0].target]


def _targets(pairs: Sequence[NamePair]) -> list[TableName]:
    return [pair.target for pair in pairs if pair.target is not None]


def _matching(names: Sequence[TableName], patterns: Sequence[str]) -> bool:
    return any(
        fnmatchcase(str(name) if "." in pattern else name.name, pattern) or pattern in (str(name), name.name)
        for name in names
        for pattern in patterns
    )


def _against_computing(column: Column, expression: str) -> str | None:
    """Why a computed value could not be compared with what is stored."""
    if part := nondeterministic_part(expression):
        return f"{part} returns something else each time"
    if column.type.name not in COMPUTABLE:
        return f"a computed {column.type} has no common form with a stored one"
    return None


def _and(one: str | None, other: str | None) -> str | None:
    return f"({one}\n) AND ({other}\n)" if one and other else one or other
