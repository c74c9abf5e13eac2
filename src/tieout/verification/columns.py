"""Compares two schemas: which columns are compared, and in which form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tieout.errors import UsageError
from tieout.model.canonical_kinds import Incomparable, Kind, Tolerance, common_kind
from tieout.model.requests import TableRequest, VerifyOptions
from tieout.model.results import SchemaFinding, UnverifiedColumn
from tieout.model.tables import Column, Table
from tieout.tasks.table_matching import is_pattern


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """Two columns, the form in which they are compared, and the user's SQL for each side, if any."""

    source: Column
    target: Column
    kind: Kind
    source_expression: str | None = None
    target_expression: str | None = None

    @property
    def same_type(self) -> bool:
        return self.source.type.native == self.target.type.native

    @property
    def plain(self) -> bool:
        return self.source_expression is None and self.target_expression is None and self.kind.tolerance is None


@dataclass(frozen=True, slots=True)
class SchemaComparison:
    """`pairs` are the columns to compare; `key` are the indexes of the key's columns in it (none: a multiset)."""

    pairs: tuple[ColumnPair, ...]
    key: tuple[int, ...]
    findings: tuple[SchemaFinding, ...]
    unverified: tuple[UnverifiedColumn, ...]


Computed = Callable[[Column, Column], tuple[Column, Column]]
"""Returns two columns as the request's expressions compute them."""


def compare_schemas(
    source: Table, target: Table, request: TableRequest, options: VerifyOptions, computed: Computed = lambda *both: both
) -> SchemaComparison:
    """Pairs columns by name. Raises UsageError for a column that the request names and neither side has.

    A key is compared whatever columns the request chooses: without it, rows could change places.
    """
    request = in_names_of_source(request, source, target)
    _check_names(source, target, request)
    request = _with_key(source, target, request)
    known = {*source.column_names, *target.column_names}
    findings = [on_neither(name) for name in request.columns or () if name not in known and _wanted(name, request)]
    unverified: list[UnverifiedColumn] = []
    pairs: list[ColumnPair] = []
    partners = _partners(source, target)
    for left in source.columns:
        right = partners.get(left.name)
        if not _wanted(left.name, request):
            continue
        if right is None:
            findings.append(only_on("source", left))
            continue
        findings += differences_of(left, right)
        pair = _pair(*computed(left, right), request, options)
        if isinstance(pair, Incomparable):
            unverified.append(UnverifiedColumn(left.name, pair.reason))
        else:
            pairs.append(pair)
    paired = {right.name for right in partners.values()}
    for right in target.columns:
        if not _wanted(right.name, request) or right.name in paired:
            continue
        text, _ = request.expressions.get(right.name, ("", ""))
        if not text:
            findings.append(only_on("target", right))
            continue
        # The source's expression is for the target's column, which may have a name of its own.
        pair = _pair(*computed(Column(right.name, right.type), right), request, options)
        if isinstance(pair, Incomparable):
            unverified.append(UnverifiedColumn(right.name, pair.reason))
        else:
            pairs.append(pair)
    key, remarks = _key(source, target, pairs, request)
    findings += remarks
    if not (source.declares and target.declares):
        findings = [finding for finding in findings if finding.aspect not in ("nullability", "key")]
    return SchemaComparison(tuple(pairs), key, tuple(findings), tuple(unverified))


def in_names_of_source(request: TableRequest, source: Table, target: Table) -> TableRequest:
    """The request with the source's names of columns, which may be given by the target's, or in another case."""

    as_written = {*source.column_names, *target.column_names}
    ours = {right.name: left for left, right in _partners(source, target).items()}

    def named(name: str) -> str:
        if name not in as_written:
            found = _in_any_case(name, source.columns) or _in_any_case(name, target.columns)
            name = name if found is None else found.name
        return name if name in source.column_names else ours.get(name, name)

    written: dict[str, str] = {}
    for name in request.expressions:
        if (first := written.setdefault(named(name), name)) != name:
            raise UsageError(f"{first} and {name} are one column of {source.name.name}", "keep one of them")
    return replace(
        request,
        key=None if request.key is None else tuple(map(named, request.key)),
        columns=None if request.columns is None else tuple(map(named, request.columns)),
        exclude_columns=tuple(map(named, request.exclude_columns)),
        tolerance={named(name): amount for name, amount in request.tolerance.items()},
        expressions={named(name): texts for name, texts in request.expressions.items()},
    )


def computes_uncompared(request: TableRequest, tables: tuple[Table, Table], comparison: SchemaComparison) -> bool:
    """Whether the request, in the source's names, computes a column of the tables that is not compared."""
    known = {name for table in tables for name in table.column_names}
    return not (request.expressions.keys() & known <= {pair.source.name for pair in comparison.pairs})


def unchosen(request: TableRequest, source: Table, target: Table) -> frozenset[str]:
    """The target's columns that the request, in the source's names, leaves out."""
    chosen = _with_key(source, target, request)
    ours = {right.name: left for left, right in _partners(source, target).items()}
    return frozenset(name for name in target.column_names if not _wanted(ours.get(name, name), chosen))


def _with_key(source: Table, target: Table, request: TableRequest) -> TableRequest:
    """The request with the columns of the key, if it chooses others of this table."""
    known = {*source.column_names, *target.column_names}
    if request.columns is None or request.key is not None or known.isdisjoint(request.columns):
        return request
    partners = _partners(source, target)
    ours = [name for name in source.key if name in partners]
    theirs = [left for name in target.key for left, right in partners.items() if right.name == name]
    if len(ours) == len(source.key) > 0:
        return replace(request, columns=(*request.columns, *ours))
    return replace(request, columns=(*request.columns, *theirs)) if len(theirs) == len(target.key) else request


def _pair(left: Column, right: Column, request: TableRequest, options: VerifyOptions) -> ColumnPair | Incomparable:
    tolerance = tolerance_of(left.name, request)
    kind = common_kind(left.type, right.type, exact_scale=options.exact_scale, tolerance=tolerance)
    if isinstance(kind, Incomparable):
        return kind
    source_expression, target_expression = request.expressions.get(left.name, (None, None))
    return ColumnPair(left, right, kind, source_expression or None, target_expression or None)


def tolerance_of(name: str, request: TableRequest) -> Tolerance | None:
    text = request.tolerance.get(name)
    return None if text is None else parsed_tolerance(name, text)


def parsed_tolerance(name: str, text: str) -> Tolerance:
    amount, _, word = text.strip().partition(" ")
    try:
        value = float(amount)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf") or word.strip() not in ("", "relative"):
        raise UsageError(f"{text!r} is not a tolerance for column {name}", 'write "0.001" or "1e-9 relative"')
    return Tolerance(value, word.strip() == "relative")


def _key(
    source: Table, target: Table, pairs: Sequence[ColumnPair], request: TableRequest
) -> tuple[tuple[int, ...], list[SchemaFinding]]:
    places = {pair.source.name: place for place, pair in enumerate(pairs)}
    by_target = {pair.target.name: pair.source.name for pair in pairs}
    if request.key is not None:
        missing = [name for name in request.key if name not in places]
        if missing:
            raise UsageError(f"{source.name} has no comparable column {missing[0]} for the key", "check --key")
        return tuple(places[name] for name in request.key), []
    target_key = tuple(by_target.get(name, name) for name in target.key)
    remarks = []
    if source.key != target_key:
        here, there = (", ".join(table.key) or "none" for table in (source, target))
        text = f"the key is ({here}) on the source and ({there}) on the target"
        remarks.append(SchemaFinding("key", text))
    for candidate in (source.key, target_key):
        if candidate and all(name in places for name in candidate):
            return tuple(places[name] for name in candidate), remarks
    return (), remarks


def differences_of(left: Column, right: Column) -> list[SchemaFinding]:
    found = []
    if left.name != right.name:
        found.append(SchemaFinding("column", f"is named {right.name} on the target", left.name))
    if not left.type.same_as(right.type):
        found.append(SchemaFinding("type", f"{left.type.native} → {right.type.native}", left.name))
    if left.nullable != right.nullable:
        words = {True: "may be NULL", False: "NOT NULL"}
        found.append(SchemaFinding("nullability", f"{words[left.nullable]} → {words[right.nullable]}", left.name))
    if left.generated != right.generated:
        words = {True: "generated", False: "stored as written"}
        found.append(SchemaFinding("type", f"{words[left.generated]} → {words[right.generated]}", left.name))
    return found


def only_on(side: str, column: Column) -> SchemaFinding:
    return SchemaFinding("column", f"is only on the {side} ({column.type.native})", column.name, breaks=True)


def on_neither(name: str) -> SchemaFinding:
    return SchemaFinding("column", "is on neither side", name)


def _partners(source: Table, target: Table) -> dict[str, Column]:
    """The target's column for each of the source: that of the same name, or else the only one that is left of the same
    name but for case. No two have the same: what one side has more is nobody's, and a difference.
    """
    named = set(source.column_names)
    found = {column.name: column for column in target.columns if column.name in named}
    ours = [column for column in source.columns if column.name not in found]
    theirs = [column for column in target.columns if column.name not in found]
    for column in ours:
        other = _in_any_case(column.name, theirs)
        if other is not None and _in_any_case(other.name, ours) is not None:
            found[column.name] = other
    return found


def _in_any_case(name: str, columns: Sequence[Column]) -> Column | None:
    folded = [column for column in columns if column.name.casefold() == name.casefold()]
    return folded[0] if len(folded) == 1 else None


def _wanted(name: str, request: TableRequest) -> bool:
    key = request.key or ()
    listed = request.columns is None or name in request.columns or name in key
    return listed and name not in request.exclude_columns


def _check_names(source: Table, target: Table, request: TableRequest) -> None:
    known = set(source.column_names) | set(target.column_names)
    for name in (*(request.columns or ()), *request.exclude_columns, *request.tolerance, *request.expressions):
        # A request for a pattern may name columns that only some of its tables have.
        if name not in known and not is_pattern(request.source):
            raise UsageError(f"{source.name} has no column {name}", f"it has {', '.join(sorted(known))}")
