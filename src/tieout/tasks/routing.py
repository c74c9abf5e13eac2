"""Routes rows of a task: which source table goes to which target table, and which column to which column."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import clashing_names
from tieout.connectors.sql.selection import Selection
from tieout.errors import UnsupportedError, UsageError
from tieout.model.moves import TABLE_NAME, Transfer
from tieout.model.requests import MoveRequest, TableRequest
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.tasks.column_names import columns_meant
from tieout.tasks.created import selection_of
from tieout.tasks.table_matching import (
    NamePair,
    Names,
    find_table,
    is_pattern,
    matching_tables,
    names_of,
    pair_tables,
    target_schema,
)
from tieout.tasks.transforms import (
    Pairs,
    computed_of_key,
    condition_of,
    names_source,
    renamed_column,
    shaped,
    tells_tables_apart,
    unknown_names,
)
from tieout.tasks.type_fit import CUT, WHOLE, misfit

OURS = "Tieout's staging tables use that column name"


class NothingToMove(UsageError):
    """None of a task's entries has a table of the source."""


_NOTHING = "there are no tables to move", "check the task's tables"


@dataclass(frozen=True, slots=True)
class Route:
    """A source table and the target table that receives its rows, which may not exist yet."""

    source: TableName
    target: TableName
    exists: bool
    request: TableRequest


def routes(source: Endpoint, target: Endpoint, request: MoveRequest) -> list[Route]:
    """Raises NothingToMove, or UsageError if the rows of two tables would be indistinguishable."""
    found, _ = routes_and_rest(source, target, request)
    if not found:
        raise NothingToMove(*_NOTHING)
    return found


def routes_and_rest(source: Endpoint, target: Endpoint, request: MoveRequest) -> tuple[list[Route], list[NamePair]]:
    """The routes, and the tables that the task names and only the target has. NothingToMove if there are neither."""
    refuse_unbuilt(request)
    names = names_of(source, request.tables, of_target=False).without_own()
    there = names_of(target, request.tables, of_target=True).without_own()
    entries = _one_by_one(names, request.tables)
    wanted = [each for entry in entries for each in entry.requests]
    _refuse_two_targets((names, there), entries)
    pairs = [] if request.tables and not wanted else pair_tables(names, there, wanted)
    found = [_route(pair, (names, there)) for pair in pairs if pair.source is not None]
    filled: dict[TableName, list[TableName]] = {}
    for route in found:
        filled.setdefault(route.target, []).append(route.source)
    for route in found:
        first, *others = filled[route.target]
        if others and not tells_tables_apart(route.request):
            raise UsageError(
                f"{others[0] if first == route.source else first} and {route.source} would both go to {route.target}",
                f'tell their rows apart there: columns: {{shard: "{TABLE_NAME}"}}',
            )
    rest = [pair for pair in pairs if pair.source is None]
    rest += [
        NamePair(None, name, entry.asked)
        for entry in entries
        # A pattern that merges tables and has none of the source: the target's rows belong to none.
        if not entry.requests and (name := find_table(there, entry.asked.target or ""))
    ]
    rest = [pair for pair in rest if pair.target not in filled]
    if not found and not rest:
        raise NothingToMove(*_NOTHING)
    return found, rest


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of a task with the source's tables that it has. `requests`: one for each table, if it merges them."""

    asked: TableRequest
    tables: tuple[TableName, ...]
    requests: tuple[TableRequest, ...]


def _one_by_one(names: Names, asked: Sequence[TableRequest]) -> list[_Entry]:
    """The entries. A pattern leaves out tables that an entry before it has."""
    found: list[_Entry] = []
    taken: set[TableName] = set()
    for each in asked:
        if is_pattern(each.source):
            tables = tuple(name for name in matching_tables(names, each) if name not in taken)
        else:
            tables = tuple(name for name in (find_table(names, each.source),) if name is not None)
        requests = tuple(replace(each, source=str(table)) for table in tables) if _merges(each) else (each,)
        found.append(_Entry(each, tables, requests))
        taken.update(tables)
    return found


def _merges(asked: TableRequest) -> bool:
    return asked.target is not None and not asked.target.endswith("*") and is_pattern(asked.source)


def _refuse_two_targets(sides: tuple[Names, Names], entries: Sequence[_Entry]) -> None:
    """UsageError if a table would go to two tables: its progress, and what stops it, is kept by its own name."""
    known: dict[TableName, TableRequest] = {}
    for entry in entries:
        for table in entry.tables:
            first = known.setdefault(table, entry.asked)
            if first is entry.asked:
                continue
            targets = {_target_of(sides, table, asked) for asked in (first, entry.asked)}
            if len(targets) > 1:
                raise UsageError(
                    f"{table} would go to {' and to '.join(sorted(map(str, targets)))}",
                    "keep one of its entries; a pattern leaves out what an entry before it names",
                )


def _target_of(sides: tuple[Names, Names], table: TableName, asked: TableRequest) -> TableName:
    alone = replace(asked, source=str(table)) if _merges(asked) else asked
    return next(_route(pair, sides).target for pair in pair_tables(*sides, [alone]) if pair.source == table)


def refuse_unbuilt(request: MoveRequest) -> None:
    """Refuses request fields that a move ignores today: it would move other rows than the user asked for."""
    # Whoever only verifies may not know why anybody speaks of a move.
    keys = [key for key in ("delivery", "consistency", "target_level") if getattr(request, key) is not None]
    why = f": its {keys[0]} says that the task is moved" if keys else ""
    for table in request.tables:
        if table.key:
            raise UnsupportedError(f"{table.source}: a move does not support `key` yet", f"remove it{why}")
        if any(target for _, target in table.expressions.values()):
            raise UsageError(
                f"{table.source}: a move computes columns from source columns only",
                f"remove its SQL for the target{why}",
            )


def merged_targets(found: Sequence[Route]) -> set[TableName]:
    """The targets to which several tables of the source go."""
    sources: dict[TableName, set[TableName]] = {}
    for route in found:
        sources.setdefault(route.target, set()).add(route.source)
    return {target for target, those in sources.items() if len(those) > 1}


def created_columns(route: Route, source: Table, merged: Collection[TableName]) -> Selection | None:
    """The columns of the table that the task has to create; None if they are the source's. `merged`: merged_targets."""
    request = _with_own_names_chosen(route.request, source)
    return selection_of(request, source, _chosen(request, source), shared=route.target in merged)


def _route(pair: NamePair, sides: tuple[Names, Names]) -> Route:
    assert pair.source is not None
    if pair.target is not None:
        return Route(pair.source, pair.target, True, pair.request)
    text = pair.request.target or ""
    wanted = text if text and not text.endswith("*") else pair.source.name
    named = TableName.parse(wanted) if text else None
    schema = sides[1].schema if text else target_schema(sides, pair.source, pair.request)
    return Route(pair.source, named or TableName(schema, wanted), False, pair.request)


@dataclass(frozen=True, slots=True)
class Matched:
    """The columns of a source that go to columns of its target, the target's that are computed, and the source's that
    the task chooses and the target lacks.
    """

    pairs: tuple[tuple[Column, Column], ...]
    computed: tuple[tuple[Column, str], ...]
    missing: tuple[Column, ...]

    @property
    def filled(self) -> set[str]:
        """The target's columns that get a value."""
        return {found.name for _, found in self.pairs} | {column.name for column, _ in self.computed}


def match_columns(request: TableRequest, source: Table, target: Table) -> Matched:
    """Matches columns by name, as the task's entry for the table says."""
    request = _with_own_names_chosen(request, source)
    chosen = _chosen(request, source)
    meant = columns_meant(request.expressions, target.column_names, target.name.name)
    texts = {column: request.expressions[name][0] for name, column in meant.items()}
    computed = tuple((column, texts[column.name]) for column in target.columns if column.name in texts)
    matched = _pairs(source, target)
    pairs = [pair for pair in matched if pair[0] in chosen and pair[1].name not in texts]
    # The values of these columns are not moved: others, which are computed, take their place.
    replaced = {column for column, found in matched if found.name in texts}
    missing = _missing([column for column in chosen if column not in replaced], pairs)
    return Matched(tuple(pairs), computed, tuple(missing))


def identifying(source: Table, target: Table, matched: Matched) -> list[str]:
    """The target's columns that identify a row: those that a mover uses. It also needs an index on them, and will make
    one, or refuse the table; so without one, they are the source's key and what tells merged tables apart.
    """
    found = _key(source, target, matched.pairs, matched.computed)
    if not isinstance(found, str):
        return found
    named = {column.name: column_there.name for column, column_there in matched.pairs}
    if any(name not in named for name in source.key):
        return []
    more = [column.name for column, expression in matched.computed if names_source(expression)]
    return [*(named[name] for name in source.key), *more]


def takes_rows_of_others(request: TableRequest, source: Table, target: Table) -> bool:
    """Whether rows of other tables may be in the target's table, because a computed column tells them apart."""
    if tells_tables_apart(request):
        return True
    try:
        matched = match_columns(without_lost(request, source), source, target)
    except UsageError:  # the source lacks a column that the task chooses
        return False
    return not {column.name for column, _ in matched.computed}.isdisjoint(identifying(source, target, matched))


def transfer_of(
    request: TableRequest, source: Table, target: Table, *, same_engine: bool, logs_generated_columns: bool
) -> Transfer:
    """Matches columns by name. Raises UnsupportedError that names every column without a counterpart.

    `logs_generated_columns`: the source's log holds the values of generated columns.
    """
    matched = match_columns(request, source, target)
    pairs, computed = matched.pairs, matched.computed
    key = _key(source, target, pairs, computed)
    problems = [
        *(f"it has no column {column.name}" for column in matched.missing),
        *uncomputable(request, source, target),
        *_unfilled(target, matched.filled),
        *([key] if isinstance(key, str) else []),
        *(f"{name}: {OURS}" for name in clashing_names(target.column_names)),
    ]
    for column, found in (*pairs, *_renamed(source, computed)):
        reason = column_misfit(column, found, same_engine=same_engine, logs_generated_columns=logs_generated_columns)
        if reason is not None:
            problems.append(f"{column.name}: {reason}")
    problems += [
        f"{column.name}: to Spark, {column.type} is a text, which means something else in {found.type}: compute {fix}"
        for column, found in _renamed(source, computed)
        if (fix := _computed_instead(column, found.type)) is not None
    ]
    if problems:
        raise UnsupportedError(
            f"{source.name} does not fit into {target.name}, which exists: {'; '.join(dict.fromkeys(problems))}",
            "change that table, or drop it so that Tieout creates it",
        )
    columns = tuple((column, found) for column, found in pairs if not found.generated)
    names = [column.name for column, _ in columns]
    where = condition_of(request)
    if not computed and where is None:
        places = tuple(names.index(name) for name in source.key)
        return Transfer(source, target, columns, places, takes_more=request.columns is None)
    assert not isinstance(key, str)
    moved = shaped(Transfer(source, target, columns), computed, where, key)
    return replace(moved, takes_more=request.columns is None)


def _with_own_names_chosen(request: TableRequest, source: Table) -> TableRequest:
    """A column that is computed as nothing but itself (`{id: "id"}`) is chosen unchanged: the key may be, too."""
    known = {name for name, (text, _) in request.expressions.items() if renamed_column(text, source) == name}
    if not known:
        return request
    return replace(
        request,
        columns=None if request.columns is None else (*request.columns, *sorted(known)),
        exclude_columns=tuple(name for name in request.exclude_columns if name not in known),
        expressions={name: texts for name, texts in request.expressions.items() if name not in known},
    )


def without_lost(request: TableRequest, source: Table, more: Sequence[str] = ()) -> TableRequest:
    """The entry of a table that was planned by it, without the columns that it leaves out and the source has lost.
    `more`: those that it left out then.
    """
    known = {name.casefold() for name in source.column_names}
    left = tuple(name for name in dict.fromkeys((*request.exclude_columns, *more)) if name.casefold() in known)
    return request if left == request.exclude_columns else replace(request, exclude_columns=left)


def _chosen(request: TableRequest, source: Table) -> list[Column]:
    """The columns to move. Raises UsageError for names that the source does not have."""

    def named(names: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for name in names:
            alike = [each for each in source.column_names if each.casefold() == name.casefold()]
            if not alike:
                raise UsageError(f"{source.name} has no column {name}", "check `columns` and `exclude_columns`")
            found |= {name} if name in alike else set(alike)
        return found

    left_out = named(request.exclude_columns)
    wanted = named(source.column_names if request.columns is None else request.columns)
    found = [column for column in source.columns if column.name in wanted - left_out]
    if not found and not request.expressions:
        raise UsageError(f"no column of {source.name} is chosen", "check `columns` and `exclude_columns`")
    return found


def _renamed(source: Table, computed: Sequence[tuple[Column, str]]) -> list[tuple[Column, Column]]:
    """Columns that are only renamed hold what their source does, like those that keep their names."""
    pairs = ((renamed_column(expression, source), column) for column, expression in computed)
    return [(source.column(name), column) for name, column in pairs if name is not None]


def _computed_instead(column: Column, target: LogicalType) -> str | None:
    """What to write instead of the column's bare name, where its text means another value to the target."""
    if column.type.name is TypeName.BITS and column.type.precision != 1 and target.name in WHOLE:
        return f"CAST(conv(CAST({column.name} AS STRING), 2, 10) AS BIGINT)"
    if column.type.name is TypeName.UUID and target.name is TypeName.BINARY:
        return f"unhex(replace({column.name}, '-', ''))"
    return None


def uncomputable(request: TableRequest, source: Table, target: Table) -> list[str]:
    request = _with_own_names_chosen(request, source)
    meant = columns_meant(request.expressions, target.column_names, target.name.name)
    problems = [f"it has no column {name}" for name in request.expressions if name not in meant]
    for column in map(target.column, meant.values()):
        if column.generated or column.type.name is TypeName.BITS:
            problems.append(f"{column.name}: a transform can't compute {column.type}")
        elif column.type.native == "name":
            problems.append(f"{column.name}: {CUT}")
    texts = [expression for expression, _ in request.expressions.values()]
    for text in [*texts, *([condition] if (condition := condition_of(request)) else [])]:
        problems += [f"{text!r}: the source has no column {name}" for name in unknown_names(text, source)]
    return problems


def _pairs(source: Table, target: Table) -> list[tuple[Column, Column]]:
    """Columns of the same name, or else of the same name but for case. No two go to one column."""
    there = {column.name: column for column in target.columns}
    pairs = {column.name: there.pop(column.name) for column in source.columns if column.name in there}
    folded = {column.name.casefold(): column for column in there.values()}
    for column in source.columns:
        if column.name not in pairs and column.name.casefold() in folded:
            pairs[column.name] = folded.pop(column.name.casefold())
    return [(column, pairs[column.name]) for column in source.columns if column.name in pairs]


def _missing(chosen: Sequence[Column], pairs: Pairs) -> list[Column]:
    names = {column.name for column, _ in pairs}
    return [column for column in chosen if column.name not in names]


def _unfilled(target: Table, filled: set[str]) -> list[str]:
    return [
        f"its column {column.name} is NOT NULL without a default, and no source column fills it"
        for column in target.columns
        if column.name not in filled and not (column.generated or column.nullable or column.default is not None)
    ]


def _key(source: Table, target: Table, pairs: Pairs, computed: Sequence[tuple[Column, str]]) -> list[str] | str:
    """The target columns that identify a row, or what is wrong with them.

    Without a unique index on them, each lookup of a row would scan the whole table.
    """
    if not source.key:
        return []
    generated = [found.name for column, found in pairs if column.name in source.key and found.generated]
    if generated:
        return f"its key contains the generated column {generated[0]}"
    named = {column.name: found.name for column, found in pairs}
    if unmapped := [name for name in source.key if name not in named]:
        return f"the key column {unmapped[0]} must be moved unchanged"
    names = [named[name] for name in source.key]
    unfit = {column.name: reason for column, text in computed if (reason := _not_of_key(column, text, source))}
    there = {column.name for column, _ in computed}
    problem = ""
    for index in sorted(target.indexes, key=lambda index: len(index.columns)):
        if not (index.unique or index.primary) or not set(names) <= set(index.columns) <= set(names) | there:
            continue
        more = [name for name in index.columns if name not in names]
        wrong = [f"{name} {unfit[name]}" for name in more if name in unfit]
        if not wrong:
            return [*names, *more]
        problem = problem or f"; of {', '.join(index.columns)}, {wrong[0]}"
    return f"it has no unique index on the key ({', '.join(source.key)}){problem}"


def _not_of_key(column: Column, expression: str, source: Table) -> str | None:
    """Why rows can't be found by a computed column of the target, if they can't."""
    if not computed_of_key(expression, source):
        return "is not computed from the key alone"
    return "takes NULL, which equals nothing" if column.nullable else None


def column_misfit(column: Column, found: Column, *, same_engine: bool, logs_generated_columns: bool) -> str | None:
    """Why a column of the target does not take the values of the source's as they are."""
    if found.generated:
        return None if column.generated else "the target generates it, but the source stores values in it"
    if column.generated and not logs_generated_columns:
        return "the source generates it and its log does not hold it; generate it on the target too"
    return misfit(column.type, found.type, same_engine=same_engine)
