"""Plans the verification of a pair of tables: what to read on each side, how to hash it, how to divide the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tieout.canonical.bucket_digests import bucket_count
from tieout.connectors.protocols.endpoint import Capabilities, Endpoint, HashSpec, Reader, Scan, ScanColumn
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.errors import AccessError, MissingObjectError, ReadError, TieoutError, UnsupportedError, UsageError
from tieout.model.canonical_kinds import Tolerance
from tieout.model.redaction import Redaction
from tieout.model.requests import TableRequest, VerifyOptions
from tieout.model.results import Explanation, SchemaFinding, Strategy, UnverifiedColumn
from tieout.model.tables import Column, Table, TableName
from tieout.tasks.table_matching import NamePair, is_pattern
from tieout.verification.columns import (
    ColumnPair,
    SchemaComparison,
    compare_schemas,
    computes_uncompared,
    in_names_of_source,
)


class Unverifiable(Exception):
    """Why a table has no plan."""


@dataclass(frozen=True)
class Side:
    """One side of a table's comparison. Picklable: it goes to executors."""

    reader: Reader
    scan: Scan

    @property
    def is_frame(self) -> bool:
        """Whether only a Spark session can read it: then the driver starts its work, and it has no ranges."""
        return isinstance(self.reader, SessionOnly)


@dataclass(frozen=True)
class TablePlan:
    """Both sides of a table, their columns in the same order and in the same forms.

    `aligned`: both engines sort the key the same way, so that a key range means the same rows on both sides.
    Otherwise each side is divided in its own order, and rows are matched in buckets by the hash of their key.
    `as_sent`: both servers send the same bytes for the same row, and Tieout hashes those bytes.
    `redaction` hides the values of rows that differ.
    """

    name: str
    source: Side
    target: Side
    columns: tuple[str, ...]
    key: tuple[int, ...]
    aligned: bool
    strategy: Strategy
    hash: HashSpec | None
    buckets: int = 0
    as_sent: bool = False
    redaction: Redaction | None = None

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(self.columns[place] for place in self.key)

    @property
    def tolerances(self) -> dict[int, Tolerance]:
        kinds = enumerate(column.kind for column in self.source.scan.columns)
        return {place: kind.tolerance for place, kind in kinds if kind.tolerance is not None}


def scans(
    source: Table, target: Table, comparison: SchemaComparison, where: tuple[str | None, str | None]
) -> tuple[Scan, Scan, bool]:
    """The two scans, and whether they are aligned."""
    left = tuple(ScanColumn(pair.source, pair.kind, pair.source_expression) for pair in comparison.pairs)
    right = tuple(ScanColumn(pair.target, pair.kind, pair.target_expression) for pair in comparison.pairs)
    key = comparison.key
    keyed = [comparison.pairs[place] for place in key]
    aligned = bool(keyed) and all(_aligned(pair) for pair in keyed)
    return (
        Scan(source, left, key, rangeable(left, key), where[0]),
        Scan(target, right, key, rangeable(right, key), where[1]),
        aligned,
    )


def _aligned(pair: ColumnPair) -> bool:
    plain = pair.plain and not pair.source.nullable and not pair.target.nullable
    return plain and pair.source.order is not None and pair.source.order == pair.target.order


def rangeable(columns: tuple[ScanColumn, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """The key, if it can be divided into ranges: no range would contain a NULL or a value that the user's SQL
    computes.
    """
    fit = all(
        columns[place].column.order is not None
        and not columns[place].column.nullable
        and columns[place].expression is None
        for place in key
    )
    return key if fit else ()


@dataclass(frozen=True, slots=True)
class Choice:
    strategy: Strategy
    reasons: tuple[str, ...]


def choose_strategy(
    requested: Strategy,
    source: Capabilities,
    target: Capabilities,
    pairs: Sequence[ColumnPair],
    *,
    slow_link: bool = False,
) -> Choice:
    """The requested strategy, or the cheapest possible. Raises UnsupportedError if the requested one is impossible."""
    no_native, no_pushdown = _against_native(source, target, pairs), _against_pushdown(source, target, pairs)
    if requested is Strategy.NATIVE and no_native:
        raise UnsupportedError(f"native can't be used: {no_native}", "use --strategy auto")
    if requested is Strategy.PUSHDOWN and no_pushdown:
        raise UnsupportedError(f"pushdown can't be used: {no_pushdown}", "use --strategy auto")
    if requested is not Strategy.AUTO:
        return Choice(requested, (f"{requested}: requested",))
    if no_native is None:
        return Choice(Strategy.NATIVE, ("native: both sides have the same engine and types, and hash their own rows",))
    if slow_link and no_pushdown is None:
        return Choice(Strategy.PUSHDOWN, (f"not native: {no_native}", "pushdown: the link is slow"))
    return Choice(Strategy.PULL, (f"not native: {no_native}", "pull: rows are hashed on the executors, 128 bits"))


def _against_native(source: Capabilities, target: Capabilities, pairs: Sequence[ColumnPair]) -> str | None:
    if source.family != target.family:
        return f"{source.family} and {target.family} hash differently"
    if not source.native_hash:
        return f"{source.family} has no native hash that can prove equality"
    return _against_hashes(pairs)


def _against_pushdown(source: Capabilities, target: Capabilities, pairs: Sequence[ColumnPair]) -> str | None:
    if source.family != target.family:
        return f"{source.family} and {target.family} render values differently"
    if not source.sql_hash:
        return f"{source.family} has no cryptographic hash in SQL"
    return _against_hashes(pairs)


def _against_hashes(pairs: Sequence[ColumnPair]) -> str | None:
    """Why two equal values could get different hashes."""
    for pair in pairs:
        if not pair.plain:
            return f"column {pair.source.name} has a tolerance or an expression"
        if not pair.same_type:
            return f"column {pair.source.name} is {pair.source.type} on the source and {pair.target.type} on the target"
    return None


SLOW_LINK = 0.02
"""Seconds of a round trip from which it is faster to hash rows on the server than to fetch them."""


@dataclass(frozen=True)
class PlannedTable:
    """A pair of tables with its plan, or with the reason why there is none.

    `merged`: all tables of the source whose rows go to the target's table, if they are several. `unfilled`: columns of
    the target that a task leaves to the target. `computes`: expressions compute values that are
    not compared, so that the source's own columns don't say what a row of the target holds.
    """

    pair: NamePair
    comparison: SchemaComparison | None = None
    plan: TablePlan | None = None
    explanation: Explanation | None = None
    failure: str | None = None
    merged: tuple[TableName, ...] = ()
    unfilled: frozenset[str] = frozenset()
    computes: bool = False

    @property
    def source_name(self) -> str | None:
        if not self.merged:
            return str(self.pair.source) if self.pair.source else None
        shown = self.merged if len(self.merged) <= _SHOWN + 1 else self.merged[:_SHOWN]
        rest = f" and {len(self.merged) - _SHOWN} more" if len(shown) < len(self.merged) else ""
        return f"{', '.join(map(str, shown))}{rest}"

    @property
    def target_name(self) -> str | None:
        return str(self.pair.target) if self.pair.target else None

    @property
    def name(self) -> str:
        """The name under which its differences are listed: the source's table, or where several go to."""
        return str((None if self.merged else self.pair.source) or self.pair.target)

    def telling(
        self, findings: tuple[SchemaFinding, ...], unverified: tuple[UnverifiedColumn, ...] = ()
    ) -> PlannedTable:
        """The same, with more to say about its columns."""
        if (found := self.comparison) is None:
            return self
        more = replace(found, findings=(*found.findings, *findings), unverified=(*found.unverified, *unverified))
        return replace(self, comparison=more)


_SHOWN = 3
"""Tables that are named of those that are merged."""


def described(endpoint: Endpoint, names: Sequence[TableName]) -> dict[TableName, Table | TieoutError]:
    """The tables, or the error of one (a damaged file, a table dropped just now). The others go on."""
    try:
        return dict(zip(names, endpoint.describe(names), strict=True)) if names else {}
    except (MissingObjectError, ReadError):
        return {name: _described_alone(endpoint, name) for name in names}


def refuse_unknown_columns(
    pairs: Sequence[NamePair],
    sources: Mapping[TableName, Table | TieoutError],
    targets: Mapping[TableName, Table | TieoutError],
) -> None:
    """Raises UsageError for a column that a pattern's request chooses and none of its tables has: less would be
    compared than was asked for.
    """
    known: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for pair in pairs:
        asked = pair.request.source, pair.request.columns or ()
        if is_pattern(asked[0]) and asked[1] and pair.source is not None and pair.target is not None:
            for table in (sources[pair.source], targets[pair.target]):
                if isinstance(table, Table):
                    known.setdefault(asked, set()).update(table.column_names)
    for (_, columns), names in known.items():
        folded = {name.casefold() for name in names}
        for name in columns:
            if name.casefold() not in folded:
                raise UsageError(f"no table has a column {name}", f"they have {', '.join(sorted(names))}")


def _described_alone(endpoint: Endpoint, name: TableName) -> Table | TieoutError:
    try:
        return endpoint.describe([name])[0]
    except (MissingObjectError, ReadError) as error:
        return error


NOTHING_IN_COMMON = "the two tables have no comparable column in common"


@dataclass(frozen=True)
class PairPlanner:
    """Plans pairs of tables of two endpoints. `seed` is of the hashes that servers compute."""

    source: Endpoint
    target: Endpoint
    options: VerifyOptions
    seed: int

    @property
    def redaction(self) -> Redaction | None:
        return Redaction() if self.options.redact_values else None

    def plan(self, pair: NamePair, tables: tuple[Table, Table]) -> PlannedTable:
        """Raises UsageError if the request names a column that neither side has."""
        request = in_names_of_source(pair.request, *tables)
        try:
            comparison = compare_schemas(*tables, request, self.options, partial(self._computed, tables, request))
        except (AccessError, MissingObjectError, ReadError) as error:
            return PlannedTable(pair, failure=str(error))
        where = (request.source_where or request.where, request.target_where or request.where)
        planned = self.compared(pair, tables, comparison, where)
        return replace(planned, computes=computes_uncompared(request, tables, comparison))

    def compared(
        self,
        pair: NamePair,
        tables: tuple[Table, Table],
        comparison: SchemaComparison,
        where: tuple[str | None, str | None],
    ) -> PlannedTable:
        """Plans one pair whose columns are known. `where` is each engine's own SQL."""
        if not comparison.pairs:
            return PlannedTable(pair, comparison, failure=NOTHING_IN_COMMON)
        source, target, options = self.source, self.target, self.options
        left, right, aligned = scans(*tables, comparison, where)
        try:
            choice = _choice(source, target, comparison, options, aligned)
        except UnsupportedError as error:
            return PlannedTable(pair, comparison, failure=str(error))
        strategy = choice.strategy
        estimates = [t.estimated_rows for t in tables if t.estimated_rows is not None]
        plan = TablePlan(
            name=str(pair.source),
            source=Side(source.reader(), left),
            target=Side(target.reader(), right),
            columns=tuple(p.source.name for p in comparison.pairs),
            key=comparison.key,
            aligned=aligned,
            strategy=strategy,
            hash=_hash_spec(strategy, options.hash_bits if aligned else 128, self.seed),
            buckets=0 if aligned else bucket_count(max(estimates, default=None)),
            as_sent=strategy is Strategy.PULL and aligned and send_alike(source, target, comparison.pairs),
            redaction=self.redaction,
        )
        how = ("rows are hashed as sent: both servers send the same bytes for the same row",) if plan.as_sent else ()
        reasons = (*choice.reasons, *how, alignment(comparison, aligned))
        return PlannedTable(pair, comparison, plan, Explanation(strategy, "ranges" if aligned else "buckets", reasons))

    def _computed(
        self, tables: tuple[Table, Table], request: TableRequest, left: Column, right: Column
    ) -> tuple[Column, Column]:
        """The columns with the types that the request's expressions give them: no value is cut to the column's type."""
        ours, theirs = request.expressions.get(left.name, (None, None))
        return (
            self.source.computed(tables[0], left, ours) if ours else left,
            self.target.computed(tables[1], right, theirs) if theirs else right,
        )


def _choice(
    source: Endpoint, target: Endpoint, comparison: SchemaComparison, options: VerifyOptions, aligned: bool
) -> Choice:
    if options.counts_only:
        return Choice(Strategy.COUNTS, ("counts: only row counts were requested",))
    if aligned:
        slow = options.strategy is Strategy.AUTO and max(source.round_trip, target.round_trip) > SLOW_LINK
        return choose_strategy(
            options.strategy, source.capabilities, target.capabilities, comparison.pairs, slow_link=slow
        )
    if _hash_in_buckets(source, target) and options.strategy in (Strategy.AUTO, Strategy.NATIVE):
        return Choice(Strategy.NATIVE, ("native: Spark reads both sides, and hashes them itself",))
    if options.strategy in (Strategy.NATIVE, Strategy.PUSHDOWN):
        raise UnsupportedError(
            f"{options.strategy} can't be used: the two sides have no key that they sort the same way",
            "use --strategy auto",
        )
    return Choice(Strategy.PULL, ("pull: the two sides sort rows differently, so executors hash and match them",))


def send_alike(source: Endpoint, target: Endpoint, pairs: Sequence[ColumnPair]) -> bool:
    """Whether both servers send the same bytes for the same row: same types and character sets, no expressions."""
    forms = source.capabilities.raw_row_format, target.capabilities.raw_row_format
    return (
        None not in forms
        and forms[0] == forms[1]
        and all(p.plain and p.same_type and p.source.charset == p.target.charset for p in pairs)
    )


def _hash_in_buckets(source: Endpoint, target: Endpoint) -> bool:
    left, right = source.capabilities, target.capabilities
    return left.bucket_hash and right.bucket_hash and left.family == right.family


def _hash_spec(strategy: Strategy, bits: int, seed: int) -> HashSpec | None:
    if strategy is Strategy.NATIVE:
        return HashSpec(True, bits, seed)
    return HashSpec(False, 128, seed) if strategy is Strategy.PUSHDOWN else None


def alignment(comparison: SchemaComparison, aligned: bool) -> str:
    names = ", ".join(comparison.pairs[place].source.name for place in comparison.key)
    if aligned:
        return f"ranges of ({names}): both sides sort it the same way"
    if names:
        return f"buckets by the hash of ({names}): the two sides sort it differently"
    return "buckets by the hash of the row: without a key, rows are a multiset"
