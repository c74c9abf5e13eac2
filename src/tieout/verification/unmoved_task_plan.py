"""Plans the verification of a task that is not moved: each side has its own Spark SQL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from tieout.connectors.protocols.endpoint import Endpoint, ScanColumn
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.errors import AccessError, MissingObjectError, ReadError, TieoutError, UsageError
from tieout.model.requests import TableRequest, VerifyRequest
from tieout.model.results import UnverifiedColumn
from tieout.model.tables import Column, Table
from tieout.tasks.table_matching import NamePair, names_of, pair_tables
from tieout.tasks.transforms import is_function, unknown_names
from tieout.verification.columns import compare_schemas, computes_uncompared, in_names_of_source, unchosen
from tieout.verification.narrowing import (
    LEFT_OUT,
    NamesOfTable,
    TypedTables,
    lacked,
    narrowed,
    refuse_unknown_typed_columns,
    typed_for,
    typed_request,
)
from tieout.verification.plan import (
    NOTHING_IN_COMMON,
    PairPlanner,
    PlannedTable,
    Unverifiable,
    described,
    refuse_unknown_columns,
)
from tieout.verification.transformed_plan import Content, TransformedPlanner


@dataclass
class UnmovedTaskPlanner:
    """Plans the tables of a task that is not moved."""

    pairs: PairPlanner
    request: VerifyRequest
    transformed: TransformedPlanner
    began: bool = False

    def plan(self) -> list[PlannedTable]:
        """Tables that nobody moves: each side has its own conditions and expressions."""
        tables = self.request.tables
        left = names_of(self.pairs.source, tables, of_target=False).without_own()
        right = names_of(self.pairs.target, tables, of_target=True).without_own()
        narrowing = self.request.narrowing
        found = pair_tables(left, right, tables)
        typed = TypedTables.of(self.request, list(map(_names, found)), began=self.began)
        pairs = [pair for pair in found if typed.names(_names(pair)) and not typed.leave_out(_names(pair))]
        sources = described(self.pairs.source, [pair.source for pair in pairs if pair.source and pair.target])
        targets = described(self.pairs.target, [pair.target for pair in pairs if pair.source and pair.target])
        refuse_unknown_columns(pairs, sources, targets)
        refuse_unknown_typed_columns(narrowing, [*sources.values(), *targets.values()])
        planned = []
        for pair in pairs:
            if pair.source is None or pair.target is None:
                planned.append(PlannedTable(pair))
                continue
            both = sources[pair.source], targets[pair.target]
            wrong = next((each for each in both if isinstance(each, TieoutError)), None)
            if wrong is not None:
                planned.append(PlannedTable(pair, failure=str(wrong)))
                continue
            assert isinstance(both[0], Table)
            assert isinstance(both[1], Table)
            try:
                planned.append(self._both_sides(pair, (both[0], both[1])))
            except (Unverifiable, AccessError, MissingObjectError, ReadError) as error:
                planned.append(PlannedTable(pair, failure=str(error)))
        return self.transformed.unless_none_is_left(planned)

    @property
    def _sides(self) -> tuple[Endpoint, Endpoint]:
        return self.pairs.source, self.pairs.target

    def _both_sides(self, pair: NamePair, tables: tuple[Table, Table]) -> PlannedTable:
        """A table of a task that is not moved, narrowed to what was typed."""
        typed = typed_for(in_names_of_source(typed_request(self.request.narrowing), *tables), *tables)
        request = in_names_of_source(pair.request, *tables)
        planned = self._planned_sides(pair, tables, request, typed)
        if (found := planned.comparison) is None:
            return planned
        compared = {each.target.name for each in found.pairs}
        planned = replace(
            planned,
            unfilled=unchosen(request, *tables) - compared,
            computes=computes_uncompared(narrowed(request, typed), tables, found),
        )
        told = {*(each.source.name for each in found.pairs), *(each.column for each in found.unverified)}
        told |= {each.column for each in found.findings if each.breaks and each.column is not None}
        known = {*tables[0].column_names, *tables[1].column_names}
        silent = known - {*told, *typed.exclude_columns}
        unverified = (UnverifiedColumn(name, LEFT_OUT) for name in typed.columns or () if name in silent)
        return planned.telling(lacked(self.request.narrowing, {name.casefold() for name in known}), tuple(unverified))

    def _planned_sides(
        self, pair: NamePair, tables: tuple[Table, Table], request: TableRequest, narrowing: TableRequest
    ) -> PlannedTable:
        wheres = request.source_where or request.where, request.target_where or request.where
        typed = narrowing.source_where, narrowing.target_where
        wanted = narrowed(request, narrowing)
        if (any(wheres) or request.expressions) and self.transformed.session is not None:
            from tieout.spark.session import refuse_other_time_zone

            refuse_other_time_zone(self.transformed.session())
        frames = [isinstance(side.reader(), SessionOnly) for side in self._sides]
        if all(frames) or not (any(wheres) or request.expressions):
            both = [_and(*each) for each in zip(wheres, typed, strict=True)]
            plain = replace(wanted, where=None, source_where=both[0], target_where=both[1])
            return self.pairs.plan(replace(pair, request=plain), tables)
        for side in (0, 1):
            if not frames[side] and (text := wheres[side]):
                _refuse_unknown_names(text, tables, side)
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
                elif reason := self.transformed.against_computing(tables[side], column, text):
                    raise Unverifiable(f"column {each.source.name}: {reason}")
                else:
                    computed[place] = column, text
            condition = None if frames[side] else wheres[side]
            where = _and(wheres[side], typed[side]) if frames[side] else typed[side]
            contents.append(Content(tables[side], plain_columns, computed, condition, where))
        return self.transformed.plan(pair, comparison, ([contents[0]], [contents[1]]), is_merge=False)

    def _computed(
        self, tables: tuple[Table, Table], request: TableRequest, narrowing: TableRequest, left: Column, right: Column
    ) -> tuple[Column, Column]:
        """The columns with the types that expressions give them: the task's by Spark, typed ones by the engines."""
        typed = narrowing.expressions.get(left.name)
        texts = typed or request.expressions.get(left.name, ("", ""))
        of_engine = [typed or isinstance(side.reader(), SessionOnly) for side in self._sides]
        for place, text in enumerate(texts):
            if text and not of_engine[place]:
                _refuse_unknown_names(text, tables, place)
        found = []
        for side, table, column, text, engine in zip(self._sides, tables, (left, right), texts, of_engine, strict=True):
            if not text:
                found.append(column)
            elif engine:
                found.append(side.computed(table, column, text))
            else:
                found.append(self.transformed.computed_by_spark(table, column, text))
        return found[0], found[1]


def _refuse_unknown_names(text: str, tables: tuple[Table, Table], side: int) -> None:
    """Unverifiable if a side lacks a column that its Spark SQL names and the other side has: it may have lost it since
    the task was written. UsageError if neither side has it.
    """
    unknown = unknown_names(text, tables[side])
    elsewhere = {name.casefold() for name in tables[1 - side].column_names}
    if neither := [name for name in unknown if name not in elsewhere and not is_function(name)]:
        known = dict.fromkeys(name for table in tables for name in table.column_names)
        raise UsageError(
            f"{tables[side].name}: {text!r}: neither side has a column {neither[0]}", f"they have {', '.join(known)}"
        )
    if lost := [name for name in unknown if name in elsewhere]:
        where = "on the target" if side else "on the source"
        raise Unverifiable(f"{text!r}: {tables[side].name} has no column {lost[0]} {where}")


def _names(pair: NamePair) -> NamesOfTable:
    own = pair.source or pair.target
    return NamesOfTable(() if own is None else (own,), pair.target)


def _and(one: str | None, other: str | None) -> str | None:
    return f"({one}\n) AND ({other}\n)" if one and other else one or other
