"""What a source has and its target lacks, besides rows: compared by name, and by definition where possible."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.finish import CHECK, INDEX, PRIMARY, UNIQUE, Catalog, DatabaseObject, Definition
from tieout.connectors.sql.ddl import Reference
from tieout.connectors.sql.internal_tables import is_own
from tieout.model.finish import NotMoved
from tieout.model.moves import Transfer
from tieout.model.tables import Table, TableName
from tieout.tasks.transforms import origins

_TABLES = ("table", "foreign table")
_OF_ENGINE = ("type", "domain", "extension")
"""Another engine has its own types for the columns that use these."""
_SATISFIED_BY = {INDEX: (INDEX, UNIQUE, PRIMARY), UNIQUE: (UNIQUE, PRIMARY), PRIMARY: (PRIMARY, UNIQUE)}
_ALIKE = {"RESTRICT": "NO ACTION"}
# How engines write the same condition differently: quotes, parentheses, casts, spaces.
_NOISE = re.compile(r'::[\w ]+(?:\(\d+(?:,\d+)?\))?|_utf8mb4|["`()\s]')


@dataclass(frozen=True)
class Inventory:
    """`stopped` are the names of tables of the task that it no longer moves."""

    source: Catalog
    target: Catalog
    endpoints: tuple[Endpoint, Endpoint]
    transfers: Sequence[Transfer]
    same_engine: bool
    stopped: Collection[str] = ()

    def not_moved(self) -> list[NotMoved]:
        found = list(self._objects())
        for transfer in self.transfers:
            found += self._definitions(transfer)
            found += self._columns(transfer)
            found += self._references(transfer)
        return sorted(found, key=lambda each: (each.kind, each.table or "", each.name))

    @cached_property
    def _targets(self) -> dict[TableName, Table]:
        names = list(dict.fromkeys(transfer.target.name for transfer in self.transfers))
        return dict(zip(names, self.endpoints[1].describe(names), strict=True))

    @cached_property
    def _names(self) -> dict[TableName, TableName]:
        """The target's table of each table of the source."""
        return {transfer.source.name: transfer.target.name for transfer in self.transfers}

    def _objects(self) -> Iterator[NotMoved]:
        there: dict[str, set[str]] = {}
        for source, target in self._names.items():
            there.setdefault(source.schema, set()).add(target.schema)
        known = _Known(self.target.objects(sorted(set().union(*there.values())), list(self._targets)), self.same_engine)
        grants: dict[tuple[str, TableName], list[str]] = {}
        for each in self.source.objects(sorted(there), list(self._names)):
            if each.table is not None:
                if each.kind == "grant":
                    if not any(known.has_grant(each, name) for name in self._there(each.table, there)):
                        grants.setdefault((str(each.holder), each.table), []).append(each.name)
                else:
                    yield from self._of_table(each, known)
            elif each.kind in _TABLES:
                yield from self._table(each, known, there[each.schema])
            elif (lack := self._lack(each, known, there)) is not None:
                yield NotMoved(each.kind, _full(each), detail=lack or None)
        for (holder, table), privileges in grants.items():
            yield NotMoved("grant", holder, _granted(table), ", ".join(privileges))

    def _there(self, name: TableName, schemas: Mapping[str, Collection[str]]) -> Iterator[TableName]:
        """What the target may call something that has privileges."""
        if name in self._names:
            yield self._names[name]
        else:
            yield from (TableName(schema, name.name) for schema in schemas.get(name.schema, {""}))

    def _lack(self, each: DatabaseObject, known: _Known, schemas: Mapping[str, Collection[str]]) -> str | None:
        if each.kind in _OF_ENGINE and not self.same_engine:
            return None
        return known.lack(each, schemas.get(each.schema, {""}))

    def _table(self, each: DatabaseObject, known: _Known, schemas: Collection[str]) -> Iterator[NotMoved]:
        name = TableName(each.schema, each.name)
        if name not in self._names and str(name) not in self.stopped and not is_own(name):
            exists = any(known.has(each.kind, schema, each.name) for schema in schemas)
            detail = "the target has a table of this name" if exists else None
            yield NotMoved(each.kind, str(name), detail=detail)

    def _of_table(self, each: DatabaseObject, known: _Known) -> Iterator[NotMoved]:
        assert each.table is not None
        target, name = self._names[each.table], each.name
        if each.kind == "comment" and name:
            (transfer,) = (transfer for transfer in self.transfers if transfer.source.name == each.table)
            columns = _columns_by_source(transfer)
            if name not in columns:
                return  # of a column that is not moved
            name = columns[name]
        if not known.has_on(each.kind, target, name, each.facts):
            shown = each.name or "on the table"
            yield NotMoved(each.kind, shown, str(each.table), each.facts if each.kind == "comment" else None)

    def _definitions(self, transfer: Transfer) -> Iterator[NotMoved]:
        columns = _columns_by_source(transfer)
        renamed = any(source != target for source, target in columns.items())
        there = self.target.definitions(self._targets[transfer.target.name])
        merged = transfer.shape is not None and transfer.shape.shared
        for each in self.source.definitions(transfer.source):
            if merged and each.kind == PRIMARY:
                continue  # the target's key has a column more
            wanted = tuple(columns.get(name, "") for name in each.columns)
            if not any(self._satisfies(found, each, wanted, renamed=renamed) for found in there):
                yield NotMoved(each.kind, each.name, str(transfer.source.name), each.detail)

    def _satisfies(self, found: Definition, wanted: Definition, columns: Sequence[str], *, renamed: bool) -> bool:
        if found.kind not in _SATISFIED_BY.get(wanted.kind, (wanted.kind,)):
            return False
        if wanted.kind == CHECK and not self.same_engine:
            return _plain(found.rule) == _plain(wanted.rule)
        if self.same_engine and not renamed:
            return " ".join(found.rule.split()) == " ".join(wanted.rule.split())
        return found.plain and wanted.plain and found.columns == tuple(columns)

    def _columns(self, transfer: Transfer) -> Iterator[NotMoved]:
        """NOT NULL and defaults."""
        target, table = self._targets[transfer.target.name], str(transfer.source.name)
        counted = self.target.following(target)
        for source, name in _columns_by_source(transfer).items():
            mine, theirs = transfer.source.column(source), target.column(name)
            if not mine.nullable and theirs.nullable:
                yield NotMoved("not null", source, table)
            default = mine.default is not None and mine.default.upper() != "NULL" and "nextval(" not in mine.default
            if default and theirs.default is None and not (theirs.generated or mine.generated or name in counted):
                yield NotMoved("default", source, table, mine.default)

    def _references(self, transfer: Transfer) -> Iterator[NotMoved]:
        there = self.target.references(self._targets[transfer.target.name])
        columns = _columns_by_source(transfer)
        for each in self.source.references(transfer.source):
            mine = self._pairs(each, columns, self._parent_columns(each.parent))
            parent = self._names.get(each.parent, each.parent)
            alike = [one for one in there if mine is not None and self._pairs(one) == mine]
            alike = [one for one in alike if one.parent == parent or (each.parent not in self._names)]
            refers = f"({', '.join(each.columns)}) to {each.parent} ({', '.join(each.parent_columns)})"
            if not alike:
                yield NotMoved("foreign key", each.name, str(transfer.source.name), refers)
            elif all(_actions(one) != _actions(each) for one in alike):
                on_delete, on_update = _actions(alike[0])
                detail = f"the target has it with ON DELETE {on_delete} ON UPDATE {on_update}"
                yield NotMoved("foreign key", each.name, str(transfer.source.name), detail)

    def _parent_columns(self, parent: TableName) -> Mapping[str, str] | None:
        found = [transfer for transfer in self.transfers if transfer.source.name == parent]
        return _columns_by_source(found[0]) if found else None

    @staticmethod
    def _pairs(
        key: Reference, columns: Mapping[str, str] | None = None, parents: Mapping[str, str] | None = None
    ) -> frozenset[tuple[str, str]] | None:
        """Which column refers to which, by the target's names; None if a column is not moved."""
        own = [name if columns is None else columns.get(name) for name in key.columns]
        theirs = [name if parents is None else parents.get(name) for name in key.parent_columns]
        pairs = frozenset((a, b) for a, b in zip(own, theirs, strict=True) if a is not None and b is not None)
        return pairs if len(pairs) == len(own) else None


class _Known:
    """What the target has."""

    def __init__(self, objects: Sequence[DatabaseObject], same_engine: bool) -> None:
        self._same_engine = same_engine
        self._of_schema = {(each.kind, each.schema, self._name(each.name)): each for each in objects if not each.table}
        self._of_table = {(each.kind, each.table, each.name.casefold()): each for each in objects if each.table}
        self._grants = {(self._holder(each), each.table, each.name) for each in objects if each.kind == "grant"}

    def has(self, kind: str, schema: str, name: str) -> bool:
        return (kind, schema, self._name(name)) in self._of_schema

    def lack(self, each: DatabaseObject, schemas: Collection[str]) -> str | None:
        """What the target lacks of an object: "" all of it, None nothing."""
        found = [self._of_schema.get((each.kind, schema, self._name(each.name))) for schema in schemas]
        there = [one for one in found if one is not None]
        if not there:
            return ""
        if each.next is None or any(one.next is None or one.next >= each.next for one in there):
            return None
        return f"the target's continues at {there[0].next}, the source's at {each.next}"

    def has_on(self, kind: str, table: TableName, name: str, facts: str | None) -> bool:
        found = self._of_table.get((kind, table, name.casefold()))
        return found is not None and (facts is None or found.facts == facts)

    def has_grant(self, grant: DatabaseObject, table: TableName) -> bool:
        return (self._holder(grant), table, grant.name) in self._grants

    def _holder(self, grant: DatabaseObject) -> str:
        """A user of MySQL has a host, one of PostgreSQL has none."""
        holder = str(grant.holder)
        return holder if self._same_engine else holder.rpartition("@")[0].strip("'`") or holder

    def _name(self, name: str) -> str:
        """PostgreSQL's routines have the types of their arguments in their names."""
        return name.casefold() if self._same_engine else name.partition("(")[0].casefold()


def _columns_by_source(transfer: Transfer) -> dict[str, str]:
    return {source: target for target, source in origins(transfer).items()}


def _granted(name: TableName) -> str:
    """What a privilege is on: an object, a schema, or the database."""
    if name.name:
        return str(name)
    return f"schema {name.schema}" if name.schema else "the database"


def _full(each: DatabaseObject) -> str:
    return f"{each.schema}.{each.name}" if each.schema else each.name


def _plain(condition: str) -> str:
    return _NOISE.sub("", condition).casefold().removeprefix("check")


def _actions(key: Reference) -> tuple[str, str]:
    on_delete, on_update = (_ALIKE.get(each.upper(), each.upper()) for each in (key.on_delete, key.on_update))
    return on_delete, on_update
