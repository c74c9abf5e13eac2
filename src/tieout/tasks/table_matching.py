"""Matches source tables with target tables, by name or pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.sql.internal_tables import is_own
from tieout.errors import UsageError
from tieout.model.requests import TableRequest, put
from tieout.model.tables import TableName


@dataclass(frozen=True, slots=True)
class NamePair:
    """Two tables that belong together; None for a side that has no such table."""

    source: TableName | None
    target: TableName | None
    request: TableRequest


@dataclass(frozen=True, slots=True)
class Names:
    """The tables of an endpoint, and the schema of a name without a schema.

    `schemas`: the schemas that requests name and the endpoint has, even if they are empty.
    """

    tables: tuple[TableName, ...]
    schema: str
    schemas: frozenset[str] = frozenset()
    known: frozenset[TableName] = field(init=False, repr=False, compare=False)
    folded: Mapping[str, Sequence[TableName]] = field(init=False, repr=False, compare=False)
    """The tables whose names differ only in case."""

    def __post_init__(self) -> None:
        # Each table of a task is looked up by its name: one by one, thousands of them would take seconds.
        folded: dict[str, list[TableName]] = {}
        for table in self.tables:
            folded.setdefault(str(table).casefold(), []).append(table)
        put(self, "known", frozenset(self.tables))
        put(self, "folded", folded)

    def without_own(self) -> Names:
        """Without tables whose names are reserved for Tieout."""
        return replace(self, tables=tuple(name for name in self.tables if not is_own(name)))


EVERYTHING = TableRequest("*")


def names_of(endpoint: Endpoint, requests: Sequence[TableRequest], *, of_target: bool) -> Names:
    """The tables of the default schema, and of every schema that requests name or match by a pattern.

    A schema of the source stands for the target's schema of the same name, too, unless the target's URL names one.
    """
    default = endpoint.default_schema()
    texts = [(r.target or r.source) if of_target else r.source for r in requests]
    wanted = {name.schema for text in texts if (name := TableName.parse(text)) is not None}
    if of_target and endpoint.names_schema:
        given = {name.schema for r in requests if (name := TableName.parse(r.target or "")) is not None}
        wanted = {schema for schema in wanted if schema in given or is_pattern(schema)}
    there = endpoint.schemas() if wanted - {default} else []
    matched = {schema for schema in there if any(fnmatchcase(schema, pattern) for pattern in wanted)}
    named = {schema for schema in wanted if not is_pattern(schema)}
    return Names(tuple(endpoint.tables(sorted({default, *named, *matched}))), default, frozenset(matched))


def target_schema(sides: tuple[Names, Names], table: TableName, request: TableRequest) -> str:
    """The schema to which a table of the source goes, if the request doesn't name one: the one of the same name, if
    the request has a schema and the target has it, or else the default schema. A pattern of schemas merges none.
    """
    source, target = sides
    named = TableName.parse(request.source)
    if named is None:
        return target.schema
    several = is_pattern(named.schema) and table.schema != source.schema
    return table.schema if several or table.schema in target.schemas else target.schema


def pair_tables(source: Names, target: Names, requests: Sequence[TableRequest]) -> list[NamePair]:
    """The pairs in the order of the requests; each once, by the first request that names it. A pattern skips
    tables that a request names.

    A pattern also matches tables of the target, so that it finds those that exist only there, and those to which none
    of the source's goes because a request before it sends the table of that name elsewhere. A name that neither side
    has is an error; a name that one side has is a pair with None.
    """
    pairs: list[NamePair] = []
    seen: set[tuple[TableName | None, TableName | None]] = set()
    taken: set[TableName] = set()
    for request in requests or (EVERYTHING,):
        if is_pattern(request.source):
            found = _by_pattern(source, target, request)
            # The rows of a taken table go elsewhere, so what the target has under its own name are nobody's.
            left = (replace(pair, source=None) if pair.source in taken else pair for pair in found)
            more = [pair for pair in left if pair.source is not None or pair.target is not None]
        else:
            found = [_by_name(source, target, request)]
            # Two requests may compare one table with two others.
            more = [pair for pair in found if (pair.source, pair.target) not in seen]
        pairs += more
        seen |= {(pair.source, pair.target) for pair in more}
        taken |= {pair.source for pair in found if pair.source}
    return _without_doubles(pairs)


def _without_doubles(pairs: list[NamePair]) -> list[NamePair]:
    told = {pair.target for pair in pairs if pair.source is not None}
    result: list[NamePair] = []
    for pair in pairs:
        if pair.source is None:
            if pair.target in told:
                continue
            told.add(pair.target)
        result.append(pair)
    return result


def _by_name(source: Names, target: Names, request: TableRequest) -> NamePair:
    left = find_table(source, request.source)
    # "a.b" is first the name of a table, then a schema and a name.
    right = find_table(target, request.target or request.source)
    if right is None and request.target is None:
        right = find_table(target, _bare(request.source))
    if left is None and right is None:
        known = sorted({t.name for t in source.tables})
        close = get_close_matches(_bare(request.source), known, 1)
        raise UsageError(
            f"neither side has a table {request.source}", f"did you mean {close[0]}?" if close else "check its name"
        )
    return NamePair(left, right, request)


def _by_pattern(source: Names, target: Names, request: TableRequest) -> list[NamePair]:
    if request.target is not None and not request.target.endswith("*"):
        raise UsageError(
            f"the pattern {request.source} can't go to one table", "write the target as schema.*, or leave it out"
        )
    given = request.target.removesuffix("*").removesuffix(".") if request.target else ""
    lefts = matching_tables(source, request)
    goes_to = {t: given or target_schema((source, target), t, request) for t in lefts}
    pairs = [NamePair(t, find_table(target, t.name, goes_to[t]), request) for t in lefts]
    paired = {pair.target for pair in pairs}
    bare = _bare(request.source)
    schemas = {given} if given else {*goes_to.values(), *_same_schemas(target, request)} or {target.schema}
    rights = [t for t in target.tables if t.schema in schemas and t not in paired and fnmatchcase(t.name, bare)]
    excluded = [_bare(pattern) for pattern in request.exclude]
    left_over = [t for t in rights if not any(fnmatchcase(t.name, pattern) for pattern in excluded)]
    return pairs + [NamePair(None, t, request) for t in left_over]


def _same_schemas(target: Names, request: TableRequest) -> set[str]:
    """The schemas of the target that the request's pattern matches."""
    named = TableName.parse(request.source)
    return set() if named is None else {schema for schema in target.schemas if fnmatchcase(schema, named.schema)}


def matching_tables(names: Names, request: TableRequest) -> list[TableName]:
    """The tables that a request's pattern matches."""
    found = [t for t in names.tables if matches(t, names.schema, request.source)]
    return [t for t in found if not _excluded(t, names, request)]


def find_table(names: Names, text: str, schema: str | None = None) -> TableName | None:
    """A table by `name` or `schema.name`: as written, or ignoring case if exactly one matches."""
    candidates = [TableName(schema or names.schema, text)]
    if (full := TableName.parse(text)) is not None:
        candidates.append(full)
    for candidate in candidates:
        if candidate in names.known:
            return candidate
    for candidate in candidates:
        folded = names.folded.get(str(candidate).casefold(), ())
        if len(folded) == 1:
            return folded[0]
    return None


def matches(table: TableName, schema: str, pattern: str) -> bool:
    """Whether a pattern means a table; one without a schema means those of `schema`."""
    if "." in pattern:
        return fnmatchcase(f"{table.schema}.{table.name}", pattern)
    return table.schema == schema and fnmatchcase(table.name, pattern)


def _excluded(table: TableName, names: Names, request: TableRequest) -> bool:
    return any(matches(table, names.schema, pattern) for pattern in request.exclude)


def is_pattern(text: str) -> bool:
    return "*" in text or "?" in text


def _bare(text: str) -> str:
    full = TableName.parse(text)
    return text if full is None else full.name
