"""Plans the verification of a task that is moved: what its target should hold of each table, by the task's own routes.

They say in which columns and by which key, so a mover, a preflight and a verification agree. Tables without conditions,
expressions and partners are compared as those of two endpoints are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.errors import AccessError, MissingObjectError, ReadError, TieoutError, UsageError
from tieout.model.canonical_kinds import Incomparable, common_kind
from tieout.model.requests import MoveRequest, TableRequest, VerifyRequest
from tieout.model.results import SchemaFinding, UnverifiedColumn
from tieout.model.tables import Column, Table, TableName
from tieout.tasks.routing import (
    Matched,
    Route,
    identifying,
    match_columns,
    routes_and_rest,
    uncomputable,
    without_lost,
)
from tieout.tasks.table_matching import NamePair, is_pattern
from tieout.tasks.transforms import condition_of, renamed_column
from tieout.verification.columns import ColumnPair, SchemaComparison, differences_of, only_on, parsed_tolerance
from tieout.verification.holding import unknown_reading
from tieout.verification.narrowing import (
    LEFT_OUT,
    NamesOfTable,
    TypedColumns,
    TypedTables,
    lacked,
    refuse_unknown_typed_columns,
    refuse_without_key,
    typed_for,
    typed_request,
)
from tieout.verification.plan import NOTHING_IN_COMMON, PairPlanner, PlannedTable, Unverifiable, described
from tieout.verification.transformed_plan import Content, TransformedPlanner

Described = Mapping[TableName, Table | TieoutError]


@dataclass
class MovedTaskPlanner:
    """Plans the tables of a task that is moved."""

    pairs: PairPlanner
    request: VerifyRequest
    transformed: TransformedPlanner
    began: bool = False

    def plan(self) -> list[PlannedTable]:
        found, rest = routes_and_rest(self.pairs.source, self.pairs.target, move_request(self.request))
        groups: dict[TableName, list[Route]] = {}
        for route in found:
            groups.setdefault(route.target, []).append(route)
        typed = TypedTables.of(self.request, [*map(_names, groups.values()), *map(_name, rest)], began=self.began)
        chosen = [group for group in groups.values() if _is_chosen(group, typed)]
        rest = [pair for pair in rest if typed.names(_name(pair)) and not typed.leave_out(_name(pair))]
        sources = described(self.pairs.source, [route.source for group in chosen for route in group if route.exists])
        targets = described(self.pairs.target, [group[0].target for group in chosen if group[0].exists])
        refuse_unknown_typed_columns(self.request.narrowing, [*sources.values(), *targets.values()])
        planned = [table for group in chosen for table in self._moved(group, sources, targets)]
        return self.transformed.unless_none_is_left([*planned, *(PlannedTable(pair) for pair in rest)])

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
        except (Unverifiable, AccessError, MissingObjectError, ReadError) as error:
            planned = PlannedTable(pair, failure=str(error))
        return [replace(planned, merged=merged)]

    def _as_it_is(self, pair: NamePair, tables: tuple[Table, Table]) -> PlannedTable:
        """A table whose rows all go over as they are, with what was typed."""
        narrowing = self.request.narrowing
        try:
            typed = typed_for(typed_request(narrowing), *tables)
        except Unverifiable as error:
            return PlannedTable(pair, failure=str(error))
        request = replace(
            pair.request,
            source_where=typed.source_where,
            target_where=typed.target_where,
            key=typed.key,
            columns=typed.columns,
            exclude_columns=typed.exclude_columns,
            tolerance={**pair.request.tolerance, **typed.tolerance},
            expressions={},
        )
        known = {name.casefold() for table in tables for name in table.column_names}
        return self.pairs.plan(replace(pair, request=request), tables).telling(lacked(narrowing, known))

    def _transferred(self, pair: NamePair, routed: Sequence[tuple[Route, Table]], target: Table) -> PlannedTable:
        try:
            _refuse_disagreeing([route for route, _ in routed])
            # A mover that began before the source lost a column that the task leaves out goes on.
            matches = [match_columns(without_lost(route.request, table), table, target) for route, table in routed]
            problems = [each for route, table in routed for each in uncomputable(route.request, table, target)]
        except UsageError as error:
            # A table that a mover has stopped may have lost the column: the others are compared all the same.
            raise Unverifiable(str(error)) from None
        if problems:
            raise Unverifiable(f"{routed[0][1].name} to {target.name}: {'; '.join(dict.fromkeys(problems))}")
        comparison = self._compared_columns(routed, matches, target)
        if not comparison.pairs:
            return PlannedTable(pair, comparison, failure=NOTHING_IN_COMMON)
        narrowing = self.request.narrowing
        (route, table), *others = routed
        conditions = [condition_of(route.request) for route, _ in routed]
        target_where = route.request.target_where
        computes = any(matched.computed for matched in matches)
        unfilled = frozenset(target.column_names) - matches[0].filled
        if not others and not computes and conditions == [None] and target_where is None:
            where = narrowing.source_where, narrowing.target_where
            planned = self.pairs.compared(pair, (table, target), comparison, where)
            return replace(planned, unfilled=unfilled)
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
        planned = self.transformed.plan(pair, comparison, (contents, [theirs]), is_merge=bool(others))
        return replace(planned, unfilled=unfilled, computes=computes)

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
        _refuse_unknown_tolerances(request, target, typed.known)
        asked = self.request.narrowing.key
        refuse_without_key(asked, typed.known, target.name.name)
        key = asked or tuple(identifying(routed[0][1], target, matches[0]))
        wanted = typed.wanted(key)
        tolerances = typed.by_column({**request.tolerance, **self.request.narrowing.tolerance})
        findings = [*lacked(self.request.narrowing, typed.known)]
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
        unverified += [UnverifiedColumn(name, LEFT_OUT) for name in typed.untold(told)]
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
                against = self.transformed.against_computing(table, column, expression)
                if reason := against or self._unknown_reading(table, column, expression):
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
        if self.transformed.holder is not None or self.transformed.session is None:
            return None
        name = renamed_column(text, table)
        found = self.transformed.computed_by_spark(table, column, text) if name is None else table.column(name)
        return unknown_reading(found.type, column.type)


def move_request(request: VerifyRequest) -> MoveRequest:
    """The request to a mover that a verification is about, as far as routes depend on it."""
    return MoveRequest(request.task or "", request.source, request.target, request.tables)


def _changes_rows(request: TableRequest) -> bool:
    """Whether the target should hold anything but the source's rows as they are."""
    chosen = request.columns is not None or request.exclude_columns or request.expressions
    return bool(chosen or condition_of(request) or request.target_where)


def _refuse_disagreeing(merged: Sequence[Route]) -> None:
    """UsageError if entries of the task say different things about rows that they merge."""
    first, *others = merged
    for what in ("tolerance", "target_where"):
        other = next((each for each in others if getattr(each.request, what) != getattr(first.request, what)), None)
        if other is not None:
            raise UsageError(f"{first.source} and {other.source} go to one table, each with another {what}")


def _refuse_unknown_tolerances(request: TableRequest, target: Table, known: Set[str]) -> None:
    """UsageError for a column that none of the tables has. A pattern may name columns that only some of them have."""
    for name in request.tolerance:
        if name.casefold() not in known and not is_pattern(request.source):
            raise UsageError(f"{target.name} has no column {name}", f"it has {', '.join(target.column_names)}")


def _is_chosen(group: Sequence[Route], typed: TypedTables) -> bool:
    """Whether what was typed leaves these tables in. Merged tables are compared together, or not at all."""
    if not typed.names(_names(group)):
        return False
    left_out = typed.leave_out(_names(group))
    if left_out and len(left_out) < len(group):
        raise UsageError(
            f"{left_out[0]} can't be left out alone: its rows are in {group[0].target} with those of other tables",
            "leave out all of them, or none",
        )
    return not left_out


def _names(group: Sequence[Route]) -> NamesOfTable:
    return NamesOfTable([route.source for route in group], group[0].target)


def _name(pair: NamePair) -> NamesOfTable:
    """The name of a table that only the target has."""
    return NamesOfTable(() if pair.target is None else (pair.target,), pair.target)
