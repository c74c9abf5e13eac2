"""PostgreSQL as a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.move.ddl_from_other_engine import declared, structure_of
from tieout.connectors.postgres.move.ddl_wider_columns import widening
from tieout.connectors.postgres.move.finish import PostgresFinish
from tieout.connectors.postgres.move.loader import CLOCK, SCHEMA, UNSYNCED, PostgresLoader
from tieout.connectors.postgres.move.preflight import target_problems
from tieout.connectors.postgres.session import mover_session
from tieout.connectors.protocols.move import Destination, StageTable
from tieout.connectors.sql.ddl import Built, Structure, UnsupportedColumn, Wiring
from tieout.connectors.sql.internal_tables import PREFIX
from tieout.connectors.sql.last_rows import LastRows
from tieout.connectors.sql.progress_layout import create_tables
from tieout.connectors.sql.session import SqlSession
from tieout.connectors.sql.table_versions import create_view
from tieout.connectors.sql.target import (
    COPIES,
    EXISTED,
    GOES,
    KEPT,
    KIND,
    PIECE,
    SHARE,
    STAYS,
    SqlTarget,
    comes_later,
    of_share,
)
from tieout.errors import AccessError
from tieout.model.moves import Transfer
from tieout.model.preflight import Problem, Severity
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_TURN = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_LACKING = "SELECT name FROM unnest(%s::text[]) AS wanted(name) WHERE to_regtype(name) IS NULL"

_DOMAINS = """
WITH RECURSIVE under AS (
  SELECT a.attname, a.atttypid AS typid, a.atttypmod AS modifier
  FROM pg_attribute a WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT u.attname, t.typbasetype, CASE WHEN t.typtypmod >= 0 THEN t.typtypmod ELSE u.modifier END
  FROM under u JOIN pg_type t ON t.oid = u.typid WHERE t.typtype = 'd')
SELECT u.attname, format_type(u.typid, u.modifier) FROM under u JOIN pg_type t ON t.oid = u.typid
WHERE t.typtype <> 'd' AND EXISTS (SELECT FROM under o WHERE o.attname = u.attname AND o.typid <> u.typid)"""

# TRUNCATE changes the file, too; so does VACUUM FULL, which removes no row.
_MADE = """
SELECT name, c.oid || ' ' || c.relfilenode FROM unnest(%s::text[]) AS wanted(name)
JOIN pg_class c ON c.oid = to_regclass(name)"""

# Owners other than this user, a role that it is a member of, and superusers.
_STRANGERS = """
WITH RECURSIVE own AS (
  SELECT oid FROM pg_roles WHERE rolname = current_user
  UNION SELECT m.roleid FROM pg_auth_members m JOIN own ON own.oid = m.member),
owners AS (
  SELECT nspowner AS owner FROM pg_namespace WHERE nspname = %s
  UNION SELECT c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s)
SELECT quote_ident(r.rolname) FROM owners o JOIN pg_roles r ON r.oid = o.owner
WHERE NOT r.rolsuper AND r.oid NOT IN (SELECT oid FROM own)"""

# A column's enum, and its collation if that is not the one of its type.
_KEPT = """
SELECT a.attname, CASE WHEN t.typtype = 'e' THEN format_type(t.oid, NULL) END,
  nullif(a.attcollation, t.typcollation)::regcollation::text
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped"""

_INDEXES = """
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = %s::regclass"""
# Those of its partitions, too. A column is NULL where an index has an expression.
# An exclusion constraint joins rows of different keys even if it has the key: it need not compare for equality.
_UNIQUE = """
SELECT c.relname, CASE WHEN i.indisexclusion THEN '{}' ELSE array_agg(a.attname) END
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE (i.indisunique OR i.indisexclusion) AND k.place <= i.indnkeyatts
  AND i.indrelid IN (SELECT %s::regclass UNION SELECT relid FROM pg_partition_tree(%s::regclass))
GROUP BY c.relname, i.indexrelid, i.indisexclusion"""
_CONSTRAINTS = "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass"
# Whatever is a relation: indexes, tables and sequences share their names.
_ELSEWHERE = """
SELECT c.relname FROM pg_class t JOIN pg_class c ON c.relnamespace = t.relnamespace
LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE t.oid = %s::regclass AND i.indrelid IS DISTINCT FROM t.oid"""


_MAY_READ = f"GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC; GRANT SELECT ON {{view}} TO PUBLIC"
_DIALECT = PostgresDialect()


def open_target(url: EndpointUrl) -> PostgresTarget:
    return PostgresTarget(url)


class PostgresTarget(SqlTarget):
    # For columns that are GENERATED ALWAYS AS IDENTITY, too.
    overriding: ClassVar[str] = "OVERRIDING SYSTEM VALUE "
    shared_lock: ClassVar[str] = "FOR SHARE"

    def __init__(self, url: EndpointUrl) -> None:
        super().__init__(lambda: mover_session(url), SCHEMA, CLOCK, _TURN)
        self.url = url

    def leave(self) -> None:
        self.session.execute(f"DROP SCHEMA {SCHEMA}")

    def prepare(self) -> None:
        self.session.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        self._require_own_schema()
        create_tables(self.progress, "text", "text", self.tables_like(PREFIX))
        create_view(self.session, SCHEMA, lambda at: f"to_timestamp(({at}) / 1e6)", _MAY_READ)

    def _require_own_schema(self) -> None:
        """The owner of a table can make writes to it run functions, with the rights of the writer."""
        owners = sorted({owner for (owner,) in self.session.rows(_STRANGERS, [SCHEMA, SCHEMA])})
        if owners:
            raise AccessError(
                f"{self.url.redacted()}: the schema {SCHEMA} or a table in it belongs to {', '.join(owners)}",
                "the mover keeps its progress there: drop the schema, or move as its owner",
            )

    def problems(self, destinations: Sequence[Destination]) -> list[Problem]:
        return target_problems(self.session, destinations)

    def structure_of(self, table: Table, wiring: Wiring) -> Structure | list[UnsupportedColumn]:
        return structure_of(table, wiring)

    def declared(self, table: Table, names: Sequence[str]) -> Mapping[str, str] | list[UnsupportedColumn]:
        return declared(table, names)

    def widening(self, table: Table, source: Table, names: Mapping[str, str], *, same_engine: bool) -> list[str]:
        quoted = self.session.table(table.name)
        kept = {name: (enum, collation) for name, enum, collation in self.session.rows(_KEPT, [quoted])}
        return widening(kept, table, source, names, same_engine=same_engine)

    def missing_types(self, types: Sequence[str]) -> list[str]:
        return [name for (name,) in self.session.rows(_LACKING, [list(types)])]

    def built(self, table: TableName) -> Built:
        wanted = [self.session.table(table)]
        found = (self.session.rows(statement, wanted) for statement in (_INDEXES, _CONSTRAINTS, _ELSEWHERE))
        return Built(*(frozenset(name for (name,) in names) for names in found))

    def unique_indexes(self, table: TableName) -> dict[str, list[str]]:
        name = self.session.table(table)
        return dict(self.session.rows(_UNIQUE, [name, name]))

    def load_problem(self) -> Problem | None:
        return _load_problem(self.session)

    def lag_problem(self) -> Problem | None:
        return _lag_problem(self.session)

    def load(self) -> int:
        return _load(self.session)

    def replica_lag(self) -> float | None:
        return _replica_lag(self.session)

    def last_rows(self) -> LastRows:
        return LastRows(self.session, self.progress, self)

    def made(self, tables: Sequence[TableName]) -> dict[TableName, str]:
        names = {self.session.table(table): table for table in tables}
        return {names[name]: made for name, made in self.session.rows(_MADE, [list(names)])}

    def row_hash(self, columns: Sequence[str], row: str) -> str:
        values = ", ".join(f"{row}.{self.session.quote(column)}" for column in columns)
        return f"hashtextextended(ROW({values})::text, 0)::text"

    def finisher(self) -> PostgresFinish:
        return PostgresFinish(self.url, self.run)

    def loader(self) -> PostgresLoader:
        return PostgresLoader(self.url)

    def create_stage(self, stage: StageTable) -> None:
        target = self.session.table(stage.transfer.target.name)
        # The log may have only the key of a deleted row, and a domain may forbid NULL.
        under = dict(self.session.rows(_DOMAINS, [target]))
        columns = ", ".join(
            f"{name}::{under[column.name]} AS {name}" if column.name in under else name
            for column in stage.transfer.target_columns
            for name in [self.session.quote(column.name)]
        )
        # After a crash the staged rows are read from the source's log again: the table needs no WAL of its own.
        self.session.execute(
            f"CREATE UNLOGGED TABLE {self.session.table(stage.name)} AS "
            f"SELECT {columns}, 0::smallint AS {KIND}, 0 AS {PIECE}, 0::bigint AS {COPIES}, "
            f"''::text AS {KEPT}, 0::smallint AS {SHARE}, 0::smallint AS {EXISTED} FROM {target} LIMIT 0"
        )

    def drop_stages(self, stages: Sequence[StageTable]) -> None:
        if stages:
            names = ", ".join(self.session.table(stage.name) for stage in stages)
            self.session.execute(f"{UNSYNCED}; DROP TABLE IF EXISTS {names}")

    def indexed(self, stage: StageTable) -> AbstractContextManager[None]:
        return nullcontext()  # the server joins by hashing

    def same_key(self, transfer: Transfer, left: str, right: str) -> str:
        columns = [transfer.target_columns[place] for place in transfer.key]
        quoted = [(column, self.session.quote(column.name)) for column in columns]
        same = [_DIALECT.compared(c, f"{left}.{name}", "=", f"{right}.{name}") for c, name in quoted]
        # To a nondeterministic collation or to citext, two different texts may be equal.
        same += [
            f'{left}.{name}::text = {right}.{name}::text COLLATE "C"'
            for column, name in quoted
            if column.type.name is TypeName.TEXT and (column.order is None or column.operators is not None)
        ]
        return " AND ".join(same)

    def drop_earlier(self, stage: StageTable, than: int | None = None) -> str:
        table, same = self.session.table(stage.name), self.same_key(stage.transfer, "n", "s")
        return f"DELETE FROM {table} s USING {table} n WHERE {same} AND {comes_later(than)}"

    def hand_on(self, stage: StageTable, place: int, piece: int) -> str:
        table, name = self.session.table(stage.name), self.session.quote(stage.transfer.target_columns[place].name)
        return (
            f"UPDATE {table} s SET {name} = n.{name}, "
            f"{KEPT} = array_to_string(array_remove(string_to_array(s.{KEPT}, ','), {quoting.text(str(place))}), ',') "
            f"FROM {table} n WHERE {self.same_key(stage.transfer, 'n', 's')} AND s.{PIECE} = {piece:d} "
            f"AND n.{PIECE} < {piece:d} AND {self.is_kept(place)} AND n.{STAYS} "
            f"AND NOT COALESCE({self.is_kept(place, 'n')}, FALSE)"
        )

    def exactly(self, column: Column) -> str:
        # As text: some types have no equality, and others consider different values equal.
        return f"{self.session.quote(column.name)}::text"

    def has(self, column: Column, value: str) -> str:
        name = self.session.quote(column.name)
        if column.type.name is TypeName.FLOAT32:
            return f"{name} {self.same} ({value})::real"
        if column.type.native == "json":  # which has no equality
            return f"{name}::text {self.same} ({value})::text"
        return super().has(column, value)

    def any_of(self, column: Column) -> str:
        return f"(array_agg({self.session.quote(column.name)}))[1]"

    def is_kept(self, place: int, row: str = "s") -> str:
        return f"{quoting.text(str(place))} = ANY(string_to_array({row}.{KEPT}, ','))"

    def fill_kept(self, stage: StageTable, place: int, share: int | None) -> str:
        name = self.session.quote(stage.transfer.target_columns[place].name)
        return (
            f"UPDATE {self.session.table(stage.name)} s SET {name} = t.{name} "
            f"FROM {self.session.table(stage.transfer.target.name)} t "
            f"WHERE {self.same_key(stage.transfer, 't', 's')} AND {self.is_kept(place)} AND {of_share(share, 's')}"
        )

    def take_away(self, stage: StageTable, share: int | None) -> str:
        return (
            f"DELETE FROM {self.session.table(stage.transfer.target.name)} t USING {self.session.table(stage.name)} s "
            f"WHERE {self.same_key(stage.transfer, 't', 's')} AND {of_share(share, 's')}"
        )

    def take_copies(self, stage: StageTable) -> int:
        target, staged = self.session.table(stage.transfer.target.name), self.session.table(stage.name)
        same = " AND ".join(
            f"t.{self.exactly(column)} IS NOT DISTINCT FROM s.{self.exactly(column)}"
            for column in stage.transfer.target_columns
        )
        ((wanted,),) = self.session.rows(f"SELECT coalesce(sum({COPIES}), 0) FROM {staged} WHERE {GOES}")
        found = self.session.execute(
            f"DELETE FROM {target} WHERE ctid IN (SELECT place FROM (SELECT t.ctid AS place, s.{COPIES} AS copies, "
            f"row_number() OVER (PARTITION BY s.ctid) AS number FROM {target} t JOIN {staged} s ON {same} "
            f"WHERE s.{GOES}) AS found WHERE number <= copies)"
        )
        return int(wanted) - found

    def tables_like(self, prefix: str) -> list[str]:
        found = self.session.rows(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s AND starts_with(tablename, %s)",
            [self.schema, prefix],
        )
        return [name for (name,) in found]


# The load of the server and the lag of its replicas. A user without the privilege sees NULL instead of an error: a
# throttle that relies on it would never throttle.
_MAY_SEE = """SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), quote_ident(current_user),
  current_setting('track_activities')::bool"""

_LOAD = """SELECT count(*) FROM pg_stat_activity
WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""

# Clients that only store the log or copy files (pg_receivewal, pg_basebackup) replay nothing. The server still shows
# the last measured lag when everything is replayed. While a replica catches up, it measures none.
_LAG = """SELECT max(CASE WHEN state IN ('startup', 'catchup') THEN 'Infinity'
  WHEN replay_lsn >= pg_current_wal_lsn() THEN 0
  ELSE coalesce(extract(epoch FROM replay_lag), 0) END)::float8
FROM pg_stat_replication WHERE replay_lsn IS NOT NULL OR state IN ('startup', 'catchup')"""


def _load_problem(session: SqlSession) -> Problem | None:
    ((may_see, user, tracked),) = session.rows(_MAY_SEE)
    if not may_see:
        return _missing_privilege(f"user {user} may not see how many statements the server runs (max_load)", user)
    if not tracked:
        fix = "ALTER SYSTEM SET track_activities = on; SELECT pg_reload_conf()"
        message = "track_activities is off: the server does not report how many statements it runs (max_load)"
        return Problem(Severity.PREVENTS, message, fix)
    return None


def _lag_problem(session: SqlSession) -> Problem | None:
    ((may_see, user, _),) = session.rows(_MAY_SEE)
    if not may_see:
        return _missing_privilege(f"user {user} may not see how far behind replicas are (max_replica_lag)", user)
    if _replica_lag(session) is None:
        message = "no replica streams from the server, so there is no lag to measure (max_replica_lag)"
        return Problem(Severity.PREVENTS, message, "start the replica, or remove max_replica_lag")
    return None


def _load(session: SqlSession) -> int:
    ((running,),) = session.rows(_LOAD)
    return int(running)


def _replica_lag(session: SqlSession) -> float | None:
    """Seconds; infinite while a replica catches up; None if none is connected."""
    ((seconds,),) = session.rows(_LAG)
    return seconds if seconds is None else float(seconds)


def _missing_privilege(message: str, user: str) -> Problem:
    return Problem(Severity.PREVENTS, message, f"GRANT pg_read_all_stats TO {user}")
