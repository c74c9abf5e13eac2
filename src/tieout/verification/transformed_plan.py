"""Plans pairs of tables of which Spark filters, computes or merges a side: its rows are read in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tieout.canonical.bucket_digests import bucket_count
from tieout.connectors.protocols.endpoint import Endpoint, Reader, Scan, ScanColumn
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.errors import ReadError
from tieout.model.canonical_kinds import Kind
from tieout.model.moves import Shape, WrongForTypes
from tieout.model.requests import Meaning
from tieout.model.results import Explanation, Strategy
from tieout.model.tables import Column, Table
from tieout.model.types import LogicalType
from tieout.tasks.table_matching import NamePair
from tieout.tasks.transforms import nondeterministic_part, projection, renamed_column
from tieout.verification.columns import SchemaComparison
from tieout.verification.holding import COMPUTABLE
from tieout.verification.named_columns import NOT_NAMED, named_column
from tieout.verification.parts import Part, TransformedReader, parts_of
from tieout.verification.plan import PairPlanner, PlannedTable, Side, TablePlan, Unverifiable, alignment, rangeable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


_ONLY_SPARK = "only a Spark session knows the type of"


def is_for_spark(planned: PlannedTable) -> bool:
    """Whether only Spark can read a side of the table, or would have to say how, as the task has it."""
    if planned.plan is None:
        return planned.failure is not None and _ONLY_SPARK in planned.failure
    return any(parts_of(side) for side in (planned.plan.source, planned.plan.target))


@dataclass
class TransformedPlanner:
    """Plans pairs of tables of a request. `session` is None if nobody may start Spark."""

    pairs: PairPlanner
    meaning: Meaning
    session: Callable[[], SparkSession] | None
    _types: dict[Shape, LogicalType] = field(default_factory=dict)
    """What Spark said of expressions: merged tables have the same."""
    _changing: dict[Shape, str | None] = field(default_factory=dict)
    _refusals: list[WrongForTypes] = field(default_factory=list)

    def unless_none_is_left(self, tables: list[PlannedTable]) -> list[PlannedTable]:
        """The tables. If refused expressions have left none to compare, raises the first refusal."""
        if self._refusals and all(table.plan is None for table in tables):
            raise self._refusals[0]
        return tables

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """An expression that is wrong for the types of a table makes that table unverifiable: a column of the source
        may have got another type since its rows were moved. The other tables are compared all the same.
        """
        try:
            yield
        except WrongForTypes as error:
            self._refusals.append(error)
            raise Unverifiable(str(error)) from None

    def plan(
        self,
        pair: NamePair,
        comparison: SchemaComparison,
        contents: tuple[Sequence[Content], Sequence[Content]],
        *,
        is_merge: bool,
    ) -> PlannedTable:
        """Plans a pair of which Spark filters, computes or merges at least one side."""
        options = self.pairs.options
        if options.strategy in (Strategy.NATIVE, Strategy.PUSHDOWN) and not options.counts_only:
            failure = f"{options.strategy} can't be used: Spark filters or computes its rows (use --strategy auto)"
            return PlannedTable(pair, comparison, failure=failure)
        with self._alone():
            source = self._side(self.pairs.source, comparison, contents[0], is_source=True)
            target = self._side(self.pairs.target, comparison, contents[1], is_source=False)
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
            redaction=self.pairs.redaction,
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
            read = tuple(column.type for column, _ in shape.reads)
            # A computed value is rounded to what its column holds.
            alike = shape.where, shape.cells, shape.uses, read, tuple(column.type for column in part.holders)
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
                raise Unverifiable(f"an expression names {column.name}, and values of type {column.type} have no text")
        if content.condition is not None and (part := self._changing_part(table, content.condition)):
            raise Unverifiable(f"{part} in its condition returns something else each time")
        plain = list(content.plain.items())
        named = [named_column(column, classed=self.holder is not None) for column, _ in shape.reads]
        places = {place: number for number, (place, _) in enumerate(plain)}
        computed = {place: ~number for number, place in enumerate(content.computed)}
        columns = (*(column for _, column in plain), *named)
        of_key = tuple(places[place] for place in key if place in places)
        scan = Scan(table, columns, of_key, rangeable(columns, of_key), content.where)
        reads = tuple(len(plain) + number for number in range(len(named)))
        holders = tuple(column for column, _ in content.computed.values())
        by_place = tuple((places | computed)[place] for place in range(len(kinds)))
        return Part(endpoint.reader(), scan, transfer, by_place, kinds, holders, reads, holder=self.holder)

    def against_computing(self, table: Table, column: Column, expression: str) -> str | None:
        """Why a computed value could not be compared with what is stored."""
        with self._alone():
            part = self._changing_part(table, expression)
        if part:
            return f"{part} returns something else each time"
        if column.type.name not in COMPUTABLE:
            return f"a computed {column.type} has no common form with a stored one"
        return None

    def _changing_part(self, table: Table, text: str) -> str | None:
        """What in a condition or an expression returns something else each time."""
        part = nondeterministic_part(text)
        if part is not None or self.session is None or renamed_column(text, table) is not None:
            return part
        from tieout.spark.frames import determinism

        shape = projection(table, [], text).shape
        assert shape is not None
        if shape not in self._changing:
            self._changing[shape] = determinism.nondeterministic_part(self.session(), table, shape)
        return self._changing[shape]

    def computed_by_spark(self, table: Table, column: Column, text: str) -> Column:
        if self.session is None:
            raise ReadError(f"{table.name}: {_ONLY_SPARK} {text!r}")
        from tieout.spark.frames.transforms import computed
        from tieout.spark.frames.types import type_as_text

        with self._alone():
            shape = projection(table, [(column, text)], None).shape
            assert shape is not None
            if shape not in self._types:
                (found,) = computed(self.session(), table, shape)
                self._types[shape] = type_as_text(found)
        return Column(column.name, self._types[shape], nullable=True)

    @cached_property
    def holder(self) -> Reader | None:
        """What knows how the target's columns hold values that have classes of their own."""
        classed = self.pairs.source.capabilities.classed and self.pairs.target.capabilities.classed
        return self.pairs.target.reader() if classed and self.meaning is Meaning.MOVED else None
