"""Finishing a move on a MySQL server: AUTO_INCREMENT, foreign keys, statistics, and what it has besides rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.check.catalog import constraints_of
from tieout.connectors.mysql.check.constraint_query import MySQLConstraints
from tieout.connectors.mysql.endpoint import MySQLEndpoint, open_endpoint
from tieout.connectors.mysql.move.source import wiring_of
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.protocols.check import StatementError
from tieout.connectors.protocols.finish import CHECK, INDEX, PRIMARY, UNIQUE, DatabaseObject, Definition, Orphans
from tieout.connectors.sql.ddl import TABLE, Reference
from tieout.connectors.sql.orphans import orphans
from tieout.model.constraints import ConstraintInfo, ConstraintKind
from tieout.model.finish import Counter, DisabledTrigger
from tieout.model.moves import Fence
from tieout.model.tables import Table, TableName
from tieout.model.types import TypeName

Run = Callable[[Fence, TableName, Sequence[str]], None]


@dataclass(frozen=True, slots=True)
class _Sequence:
    """A sequence of MariaDB that numbers a column. `next`: the first number that the server has not cached."""

    column: str
    name: str
    next: int
    increment: int
    least: int
    most: int
    cycles: int


_TABLES = """
SELECT CASE table_type WHEN 'VIEW' THEN 'view' WHEN 'SEQUENCE' THEN 'sequence' ELSE 'table' END, table_schema,
  table_name
FROM information_schema.tables WHERE table_schema IN ({schemas}) ORDER BY 1, 2, 3"""
_ROUTINES = """
SELECT LOWER(routine_type), routine_schema, routine_name FROM information_schema.routines
WHERE routine_schema IN ({schemas}) ORDER BY 1, 2, 3"""
_EVENTS = """
SELECT 'event', event_schema, event_name FROM information_schema.events
WHERE event_schema IN ({schemas}) ORDER BY 2, 3"""

_TRIGGERS = """
SELECT trigger_name FROM information_schema.triggers
WHERE event_object_schema = %s AND event_object_table = %s ORDER BY trigger_name"""
_TABLE_COMMENT = """
SELECT '', table_comment FROM information_schema.tables
WHERE table_schema = %s AND table_name = %s AND table_comment <> ''"""
_COLUMN_COMMENTS = """
SELECT column_name, column_comment FROM information_schema.columns
WHERE table_schema = %s AND table_name = %s AND column_comment <> '' ORDER BY ordinal_position"""
_GRANTS = """
SELECT grantee, privilege_type, '' FROM information_schema.table_privileges WHERE table_schema = %s AND table_name = %s
UNION ALL
SELECT grantee, privilege_type, column_name FROM information_schema.column_privileges
WHERE table_schema = %s AND table_name = %s
UNION ALL
SELECT grantee, privilege_type, '' FROM information_schema.schema_privileges
WHERE %s LIKE table_schema ORDER BY 1, 2, 3"""
_OF_TABLES = ("SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "TRIGGER")
"""Privileges that mean something on another engine, too."""

_INDEXES = """
SELECT index_name, non_unique, index_type, column_name, sub_part, collation FROM information_schema.statistics
WHERE table_schema = %s AND table_name = %s ORDER BY index_name, seq_in_index"""

# MariaDB's sequences, as its catalog writes them into a column's default.
_DEFAULTS = """
SELECT column_name, column_default FROM information_schema.columns
WHERE table_schema = %s AND table_name = %s AND column_default LIKE 'nextval(%%' ORDER BY ordinal_position"""
_NEXT_VALUE = re.compile(r"nextval\(`((?:[^`]|``)+)`\.`((?:[^`]|``)+)`\)")
_SEQUENCE = "SELECT next_not_cached_value, increment, minimum_value, maximum_value, cycle_option FROM {name}"

_ROUTINE_GRANTS = """
SELECT user, host, db, routine_name, proc_priv FROM mysql.procs_priv WHERE db IN ({schemas}) ORDER BY 1, 2, 3, 4"""
_VIEW_GRANTS = """
SELECT p.grantee, p.table_schema, p.table_name, p.privilege_type FROM information_schema.table_privileges p
JOIN information_schema.views v ON v.table_schema = p.table_schema AND v.table_name = p.table_name
WHERE p.table_schema IN ({schemas}) ORDER BY 1, 2, 3, 4"""

_CHILDREN = """
SELECT DISTINCT table_schema, table_name FROM information_schema.key_column_usage
WHERE referenced_table_schema = %s AND referenced_table_name = %s"""


@dataclass
class MySQLFinish:
    """A Catalog, and with `run` a TargetFinish. `run` runs statements under the mover's fence."""

    url: EndpointUrl
    run: Run | None = None

    @cached_property
    def _endpoint(self) -> MySQLEndpoint:
        return open_endpoint(self.url)

    def close(self) -> None:
        if "_endpoint" in self.__dict__:
            self._endpoint.close()

    def objects(self, schemas: Sequence[str], tables: Sequence[TableName]) -> list[DatabaseObject]:
        found = []
        for statement in (_TABLES, _ROUTINES, _EVENTS):
            rows = self._all(statement.format(schemas=", ".join(["%s"] * len(schemas))), list(schemas))
            found += [DatabaseObject(str(kind), str(schema), str(name)) for kind, schema, name in rows]
        found = [replace(each, next=self._next_of(each)) if each.kind == "sequence" else each for each in found]
        for table in tables:
            found += self._of_table(table)
        return [*found, *self._grants(schemas)]

    def _grants(self, schemas: Sequence[str]) -> Iterator[DatabaseObject]:
        """On routines, as far as this user may see them, and on views."""
        places = ", ".join(["%s"] * len(schemas))
        with closing(MySQLSession(self.url)) as session:
            routines = session.attempt(_ROUTINE_GRANTS.format(schemas=places), list(schemas))
        rows = [] if isinstance(routines, StatementError) else routines
        known = [(quoting.account(f"{user}@{host}"), *rest) for user, host, *rest in rows]
        for holder, schema, name, privileges in [
            *known,
            *self._all(_VIEW_GRANTS.format(schemas=places), list(schemas)),
        ]:
            for privilege in str(privileges).split(","):
                of = TableName(str(schema), str(name))
                yield DatabaseObject("grant", of.schema, privilege.upper(), of, holder=str(holder))

    def _next_of(self, sequence: DatabaseObject) -> int | None:
        name = quoting.table(TableName(sequence.schema, sequence.name))
        rows = self._all(f"SELECT next_not_cached_value FROM {name}", [])
        return int(rows[0][0]) if rows else None

    def _of_table(self, table: TableName) -> list[DatabaseObject]:
        where, schema = [table.schema, table.name], table.schema
        found = [DatabaseObject("trigger", schema, str(name), table) for (name,) in self._all(_TRIGGERS, where)]
        for holder, privilege, column in self._all(_GRANTS, [*where, *where, table.schema]):
            if privilege in _OF_TABLES:
                what = f"{privilege} ({column})" if column else str(privilege)
                found.append(DatabaseObject("grant", schema, what, table, holder=str(holder)))
        for statement in (_TABLE_COMMENT, _COLUMN_COMMENTS):
            for column, text in self._all(statement, where):
                found.append(DatabaseObject("comment", schema, str(column), table, facts=str(text)))
        return list(dict.fromkeys(found))

    def definitions(self, table: Table) -> list[Definition]:
        found = []
        rows = self._all(_INDEXES, [table.name.schema, table.name.name])
        for name, parts in groupby(rows, key=itemgetter(0)):
            found.append(_index(str(name), list(parts)))
        for constraint in constraints_of(self._endpoint, table):
            if constraint.kind is ConstraintKind.CHECK and not _is_json(table, constraint):
                text = constraint.expression or ""
                found.append(Definition(CHECK, constraint.name, (), text, False, constraint.definition))
        return found

    def references(self, table: Table) -> list[Reference]:
        with closing(MySQLSession(self.url)) as session:
            return list(wiring_of(session, table.name).references)

    def following(self, table: Table) -> Mapping[str, int]:
        with closing(MySQLSession(self.url)) as session:
            # MySQL shows numbers of up to a day ago.
            session.attempt("SET SESSION information_schema_stats_expiry = 0")
            numbers = wiring_of(session, table.name).numbers
        return {**numbers, **{each.column: each.next for each in self._sequences(table.name)}}

    def _sequences(self, table: TableName) -> list[_Sequence]:
        """The sequences whose next value is the default of a column."""
        found = []
        for column, default in self._all(_DEFAULTS, [table.schema, table.name]):
            if (named := _NEXT_VALUE.fullmatch(str(default))) is not None:
                schema, name = (part.replace("``", "`") for part in named.groups())
                quoted = quoting.table(TableName(schema, name))
                (numbers,) = self._all(_SEQUENCE.format(name=quoted), [])
                found.append(_Sequence(str(column), quoted, *map(int, numbers)))
        return found

    def blind_spots(self) -> list[str]:
        found = []
        for what, needed in (("routines and events", "mysql.proc"), ("triggers and grants", "mysql.db")):
            with closing(MySQLSession(self.url)) as session:
                seen = session.attempt(f"SELECT 1 FROM {needed} LIMIT 1")
                if isinstance(seen, StatementError) and "mysql.proc" in needed:
                    seen = session.attempt("SELECT 1 FROM mysql.event LIMIT 1")  # MySQL 8 has neither
            if isinstance(seen, StatementError):
                found.append(f"the user may not read {needed}: {what} that the user has no privilege on are not listed")
        return found

    def count_on(self, fence: Fence, table: Table, wanted: Mapping[str, int]) -> list[Counter]:
        counters = [self._count_sequence_on(fence, table, each, wanted) for each in self._sequences(table.name)]
        of_sequences = {counter.column for counter in counters}
        for column, current in self.following(table).items():
            if column in of_sequences:
                continue
            ((most,),) = self._all(f"SELECT MAX({quoting.name(column)}) FROM {quoting.table(table.name)}", [])
            number = max(current, wanted.get(column, 1), int(most or 0) + 1)
            end = _largest(table, column)
            if end is not None and number > end:
                problem = f"its next number, {number}, is beyond what its type holds ({end})"
                counters.append(Counter(str(table.name), column, None, problem))
                continue
            if number > current:
                assert self.run is not None
                self.run(fence, table.name, [f"ALTER TABLE {TABLE} AUTO_INCREMENT = {number:d}"])
            counters.append(Counter(str(table.name), column, number))
        return counters

    def _count_sequence_on(self, fence: Fence, table: Table, sequence: _Sequence, wanted: Mapping[str, int]) -> Counter:
        """The server never sets a sequence back, and `next` may be far beyond what it has cached."""
        up = sequence.increment > 0
        far, most = (max, "MAX") if up else (min, "MIN")
        number = wanted.get(sequence.column, sequence.least if up else sequence.most)
        ((used,),) = self._all(f"SELECT {most}({quoting.name(sequence.column)}) FROM {quoting.table(table.name)}", [])
        if used is not None and not sequence.cycles and str(used).lstrip("-").isdecimal():
            number = far(number, int(used) + (1 if up else -1))
        if not sequence.least <= number <= sequence.most:
            end = sequence.most if up else sequence.least
            problem = f"its next number, {number}, is beyond the end of the sequence {sequence.name} ({end})"
            return Counter(str(table.name), sequence.column, None, problem)
        assert self.run is not None
        self.run(fence, table.name, [f"DO SETVAL({sequence.name}, {number:d}, 0)"])
        return Counter(str(table.name), sequence.column, number)

    def foreign_keys(self, tables: Sequence[Table]) -> list[ConstraintInfo]:
        moved = {table.name for table in tables}
        names = dict.fromkeys(table.name for table in tables)
        for table in tables:
            rows = self._all(_CHILDREN, [table.name.schema, table.name.name])
            names.update(dict.fromkeys(TableName(str(schema), str(name)) for schema, name in rows))
        described = self._endpoint.describe(list(names))
        return [
            key
            for table in described
            for key in constraints_of(self._endpoint, table)
            if key.kind is ConstraintKind.FOREIGN_KEY
            and (table.name in moved or (key.reference is not None and key.reference.parent in moved))
        ]

    def validate(self, fence: Fence, key: ConstraintInfo) -> None:
        """Nothing: the server has no foreign key that waits for it. It never looks at rows that were written without
        foreign_key_checks.
        """

    def orphans(self, key: ConstraintInfo) -> Orphans:
        dialect = MySQLConstraints(self._endpoint.server_kind)
        return orphans(dialect, key, lambda statement: self._all(statement, []))

    def disabled_triggers(self, tables: Sequence[TableName]) -> list[DisabledTrigger]:
        return []  # the server can't disable one

    def analyze(self, fence: Fence, table: TableName) -> None:
        assert self.run is not None
        self.run(fence, table, [f"ANALYZE TABLE {TABLE}"])

    def warnings(self) -> list[str]:
        if self._all("SELECT @@GLOBAL.foreign_key_checks", []) == [(1,)]:
            return []
        return ["foreign_key_checks is off on the target: it enforces no foreign key in new sessions"]

    def _all(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        return self._endpoint.all(statement, parameters)


def _index(name: str, parts: Sequence[tuple[Any, ...]]) -> Definition:
    _, non_unique, method, *_ = parts[0]
    kind = PRIMARY if name == "PRIMARY" else INDEX if non_unique else UNIQUE
    columns = tuple(str(part[3] or "(expression)") for part in parts)
    words = [_part(column, part[4], part[5]) for column, part in zip(columns, parts, strict=True)]
    rule = f"{method} ({', '.join(words)})"
    # Another engine has the whole value where this one has a prefix; for a unique index, that is another rule.
    plain = method in ("BTREE", "HASH") and all(part[3] and part[5] != "D" for part in parts)
    return Definition(kind, name, columns, rule, plain and not (kind != INDEX and _has_prefix(parts)), rule)


def _part(column: str, prefix: int | None, collation: str | None) -> str:
    return column + (f"({prefix})" if prefix else "") + (" DESC" if collation == "D" else "")


def _has_prefix(parts: Iterable[tuple[Any, ...]]) -> bool:
    return any(part[4] for part in parts)


def _is_json(table: Table, constraint: ConstraintInfo) -> bool:
    """Whether this is what makes a column of MariaDB JSON: it comes with the type."""
    return len(constraint.columns) == 1 and (
        constraint.expression == f"json_valid({quoting.name(constraint.columns[0])})"
        and table.column(constraint.columns[0]).type.name is TypeName.JSON
    )


def _largest(table: Table, column: str) -> int | None:
    t = table.column(column).type
    if t.name is not TypeName.INTEGER:
        return None
    bits = t.precision or 64
    return int((1 << (bits if t.unsigned else bits - 1)) - 1)
