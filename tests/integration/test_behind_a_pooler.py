"""Sessions whose settings got lost on the way to the server: refused, and not believed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.repairing import Pair
from tests.servers.pooler import dropping_options, dropping_sets
from tieout.config.urls import parse_url
from tieout.connectors.mysql import connection as mysql
from tieout.connectors.postgres import connection as postgres
from tieout.connectors.registry import open_endpoint
from tieout.errors import AccessError

if TYPE_CHECKING:
    from tests.servers.server import Database


class Elsewhere:
    """A database as it is reached by another port, or by another user."""

    def __init__(self, database: Database, port: int, login: str | None = None) -> None:
        self._database = database
        self.url = database.url.replace(f":{database.server.port}/", f":{port}/")
        if login is not None:
            self.url = f"{self.url.partition('://')[0]}://{login}@{self.url.rpartition('@')[2]}"

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)


def test_a_policy_that_hides_rows_makes_no_two_tables_equal(pg_db: Database, pg_db_b: Database, tmp_path: Path) -> None:
    server = pg_db.server
    server.execute(None, "DROP ROLE IF EXISTS limited")
    server.execute(None, "CREATE ROLE limited LOGIN PASSWORD 'limited'")
    for database in (pg_db, pg_db_b):
        database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        database.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        database.execute("GRANT SELECT ON t TO limited; ALTER TABLE t ENABLE ROW LEVEL SECURITY")
        database.execute("CREATE POLICY p ON t USING (id < 2)")
    pg_db_b.execute("UPDATE t SET v = 'other' WHERE id = 2")
    try:
        with dropping_options(server.host, server.port) as port:
            pair = Pair.of(*(Elsewhere(each, port, "limited:limited") for each in (pg_db, pg_db_b)), tmp_path)
            with pytest.raises(AccessError) as caught:
                pair.compare("t")
        assert "row_security = off" in caught.value.message
        assert "a pooler may have dropped them" in caught.value.message
        assert "connect to the server itself" in (caught.value.hint or "")
    finally:
        for database in (pg_db, pg_db_b):
            database.execute("DROP OWNED BY limited")
        server.execute(None, "DROP ROLE limited")


def test_a_session_that_only_reads(pg_db: Database) -> None:
    from dataclasses import replace

    from tieout.connectors.postgres.arrow import ArrowConnection

    with dropping_options(pg_db.server.host, pg_db.server.port) as port:
        url = replace(parse_url(Elsewhere(pg_db, port).url), read_only=True)
        with pytest.raises(AccessError, match="default_transaction_read_only = on") as caught:
            postgres.connect(url, "tieout").close()
        assert "p@ss" not in str(caught.value)
        with pytest.raises(AccessError, match="lock_timeout = 5000ms") as caught:
            ArrowConnection(postgres.libpq_url(url, "tieout executor")).close()
        assert "p%40ss" not in str(caught.value)


def test_settings_that_are_the_server_s_own_are_as_good(pg_db: Database) -> None:
    """An administrator who can't do without a pooler gives them to the user."""
    server = pg_db.server
    server.execute(None, "CREATE ROLE pooled LOGIN PASSWORD 'pooled'")
    try:
        with dropping_options(server.host, server.port) as port:
            url = parse_url(Elsewhere(pg_db, port, "pooled:pooled").url)
            with pytest.raises(AccessError) as caught:
                postgres.connect(url, "tieout").close()
            lacking = caught.value.message.partition("(")[2].partition(")")[0]
            for each in lacking.split(", "):
                name, _, value = each.partition(" = ")
                server.execute(None, f"ALTER ROLE pooled SET {name} = '{value}'")
            postgres.connect(url, "tieout").close()
    finally:
        server.execute(None, "DROP ROLE pooled")


@pytest.mark.parametrize("params", ["", "?lock_timeout=1500ms&statement_timeout=90s", "?lock_timeout=2h"])
def test_without_one_nobody_is_refused(pg_db: Database, mysql_db: Database, params: str) -> None:
    for database in (pg_db, mysql_db):
        with closing(open_endpoint(parse_url(database.url + params))):
            pass


def test_mariadb_behind_a_proxy(mysql_db: Database) -> None:
    from dataclasses import replace

    with dropping_sets(mysql_db.server.host, mysql_db.server.port) as port:
        url = parse_url(Elsewhere(mysql_db, port).url)
        with pytest.raises(AccessError, match="NO_BACKSLASH_ESCAPES") as caught:
            mysql.connect(url).close()
        assert "time_zone = '+00:00'" in caught.value.message
        with pytest.raises(AccessError, match="transaction_read_only = 1"):
            mysql.connect(replace(url, read_only=True)).close()
