"""PostgreSQL as a target."""

from __future__ import annotations

from tieout.config.urls import EndpointUrl
from tieout.connectors.moving import StageTable
from tieout.connectors.postgres.moving.column_types import structure_of
from tieout.connectors.postgres.moving.loader import CLOCK, SCHEMA, PostgresLoader
from tieout.connectors.postgres.moving.session import PostgresSession
from tieout.connectors.structure import Structure, Unholdable
from tieout.connectors.target import COPIES, GOES, KEPT, KIND, PIECE, SqlTarget
from tieout.model.tables import Table


def open_target(url: EndpointUrl) -> PostgresTarget:
    return PostgresTarget(url)


class PostgresTarget(SqlTarget):
    def __init__(self, url: EndpointUrl) -> None:
        super().__init__(lambda: PostgresSession(url), SCHEMA, CLOCK)
        self.url = url

    def prepare(self) -> None:
        self.session.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        self.progress.create("text", "text")

    def structure_of(self, table: Table) -> Structure | list[Unholdable]:
        return structure_of(table)

    def loader(self) -> PostgresLoader:
        return PostgresLoader(self.url)

    def create_stage(self, stage: StageTable) -> None:
        # What is staged is read again from the log after a crash: it needs no log of its own.
        self.session.execute(
            f"CREATE UNLOGGED TABLE {self.session.table(stage.name)} AS "
            f"SELECT {self.columns(stage.transfer)}, 0::smallint AS {KIND}, 0 AS {PIECE}, 0::bigint AS {COPIES}, "
            f"''::text AS {KEPT} FROM {self.session.table(stage.transfer.target.name)} LIMIT 0"
        )

    def keep_last_piece(self, stage: StageTable) -> str:
        table, same = self.session.table(stage.name), self.same_key(stage.transfer, "n", "s")
        return f"DELETE FROM {table} s USING {table} n WHERE {same} AND n.{PIECE} > s.{PIECE}"

    def is_kept(self, place: int) -> str:
        return f"'{place:d}' = ANY(string_to_array(s.{KEPT}, ','))"

    def fill_kept(self, stage: StageTable, place: int) -> str:
        name = self.session.quote(stage.transfer.target_columns[place].name)
        return (
            f"UPDATE {self.session.table(stage.name)} s SET {name} = t.{name} "
            f"FROM {self.session.table(stage.transfer.target.name)} t "
            f"WHERE {self.same_key(stage.transfer, 't', 's')} AND {self.is_kept(place)}"
        )

    def take_away(self, stage: StageTable) -> str:
        return (
            f"DELETE FROM {self.session.table(stage.transfer.target.name)} t USING {self.session.table(stage.name)} s "
            f"WHERE {self.same_key(stage.transfer, 't', 's')}"
        )

    def take_copies(self, stage: StageTable) -> int:
        target, staged = self.session.table(stage.transfer.target.name), self.session.table(stage.name)
        names = [self.session.quote(column.name) for column in stage.transfer.target_columns]
        # As text: not every type has an equality, and one of them may take two values for the same.
        same = " AND ".join(f"t.{name}::text IS NOT DISTINCT FROM s.{name}::text" for name in names)
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
