"""The servers are what the other tests take them for."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg
import pymysql
import pytest

from tests.servers.process import ServerFailed, ServerProcess
from tests.servers.server import Server

SERVERS = ["mariadb", "mariadb_b", "postgres"]
DATABASES = ["mysql_db", "mysql_db_b", "pg_db", "pg_db_b"]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Server:
    return request.getfixturevalue(request.param)


@pytest.fixture
def database(request: pytest.FixtureRequest):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(("server", "zone"), [("mariadb", "+02:00"), ("mariadb_b", "-07:00")], indirect=["server"])
def test_mariadb_keeps_a_full_row_log_in_its_own_time_zone(server, zone):
    settings = dict(server.rows(None, "SHOW GLOBAL VARIABLES"))
    assert settings["log_bin"] == "ON"
    assert settings["binlog_format"] == "ROW"
    assert settings["binlog_row_image"] == "FULL"
    assert settings["binlog_row_metadata"] == "FULL"
    assert settings["binlog_annotate_row_events"] == "ON"
    assert settings["character_set_server"] == "utf8mb4"
    assert settings["innodb_flush_log_at_trx_commit"] == "0"
    assert settings["sync_binlog"] == "0"
    assert settings["skip_name_resolve"] == "ON"
    assert settings["time_zone"] == zone


def test_the_two_mariadb_servers_could_replicate(mariadb, mariadb_b):
    assert mariadb.port != mariadb_b.port
    assert mariadb.rows(None, "SELECT @@server_id") != mariadb_b.rows(None, "SELECT @@server_id")


def test_postgres_is_set_up_for_logical_decoding_and_prepared_transactions(postgres):
    settings = dict(postgres.rows(None, "SELECT name, setting FROM pg_settings"))
    assert settings["wal_level"] == "logical"
    assert settings["max_prepared_transactions"] == "10"
    assert settings["max_connections"] == "100"
    assert settings["fsync"] == "off"
    assert settings["synchronous_commit"] == "off"
    assert settings["log_statement"] == "all"
    assert {"%a", "%p", "%d"} <= {f"%{code[0]}" for code in settings["log_line_prefix"].split("%")[1:]}
    assert settings["server_encoding"] == "UTF8"


def test_postgres_databases_of_a_pair_have_different_time_zones(fresh_postgres_pair):
    zones = [database.rows("SHOW timezone") for database in fresh_postgres_pair]
    assert zones == [[("Asia/Kolkata",)], [("America/St_Johns",)]]


@pytest.mark.parametrize("server", SERVERS, indirect=True)
def test_a_server_does_not_run_as_root(server):
    owner = Path(f"/proc/{server.process.pid}").stat().st_uid
    assert owner != 0
    assert os.geteuid() in (0, owner)


@pytest.mark.parametrize("server", SERVERS, indirect=True)
def test_a_wrong_password_is_refused(server):
    wrong = type(server)(server.process, server.port, password="wrong")
    with pytest.raises((pymysql.err.OperationalError, psycopg.OperationalError), match=r"denied|authentication failed"):
        wrong.rows(None, "SELECT 1")


@pytest.mark.parametrize("server", ["mariadb", "mariadb_b"], indirect=True)
def test_no_account_of_mariadb_comes_in_without_a_password(server):
    with pytest.raises(pymysql.err.OperationalError, match="denied"):
        pymysql.connect(host=server.host, port=server.port, user="root")


@pytest.mark.parametrize("database", DATABASES, indirect=True)
def test_a_url_holds_the_quoted_password(database):
    url = urlsplit(database.url)
    assert "p@ss/w:rd" not in database.url
    assert unquote(url.password or "") == "p@ss/w:rd"
    assert (url.hostname, url.port, url.path) == (database.server.host, database.server.port, f"/{database.name}")


@pytest.mark.parametrize("database", DATABASES, indirect=True)
def test_a_fresh_database_is_empty_and_takes_rows(database):
    database.execute("CREATE TABLE t (id int PRIMARY KEY, name varchar(20)); INSERT INTO t VALUES (1, '100%')")
    database.execute("INSERT INTO t VALUES (%s, %s)", 2, "zażółć 🦆")
    database.executemany("INSERT INTO t VALUES (%s, %s)", [(3, None), (4, "")])
    assert database.rows("SELECT * FROM t ORDER BY id") == [(1, "100%"), (2, "zażółć 🦆"), (3, None), (4, "")]


@pytest.mark.parametrize("database", DATABASES, indirect=True)
def test_an_error_in_a_later_statement_is_raised(database):
    with pytest.raises((pymysql.err.ProgrammingError, psycopg.errors.UndefinedTable)):
        database.execute("CREATE TABLE t (id int); INSERT INTO nowhere VALUES (1)")


@pytest.mark.parametrize("server", SERVERS, indirect=True)
def test_a_database_is_dropped_although_a_session_holds_a_lock(server):
    with server.fresh_database() as database:
        database.execute("CREATE TABLE t (id int)")
        with database.connect() as session:
            session.cursor().execute("BEGIN")
            session.cursor().execute("SELECT * FROM t")
            server.drop_database(database.name)
    with pytest.raises((pymysql.err.OperationalError, psycopg.OperationalError), match=database.name):
        database.rows("SELECT 1")


@pytest.mark.parametrize("database", DATABASES, indirect=True)
def test_a_recording_holds_the_statements_of_its_block(database):
    database.execute("CREATE TABLE t (id int)")
    many_lines = "SELECT id\nFROM t\n\tWHERE id > 0"
    with database.recording() as seen:
        database.rows(many_lines)
        database.rows("SELECT id FROM t WHERE id = %s", 7)
        database.server.rows(None, "SELECT 'another database'")
    database.rows("SELECT 'afterwards'")

    texts = [statement.text for statement in seen if statement.text.startswith("SELECT")]
    assert texts[0] == many_lines
    assert len(texts) == 2
    assert "WHERE id = " in texts[1]
    assert {statement.database for statement in seen} == {database.name}
    assert len({statement.connection for statement in seen}) == 2


@pytest.mark.parametrize("server", SERVERS, indirect=True)
def test_a_recording_of_a_server_holds_every_database(server):
    with server.recording() as seen:
        server.rows(None, "SELECT 'here'")
    assert "SELECT 'here'" in [statement.text for statement in seen]


def test_a_recording_of_postgres_names_the_application(pg_db):
    with pg_db.recording() as seen, pg_db.connect() as session:
        session.execute("SET application_name = 'tieout'")
        session.execute("SELECT 1")
    assert [s.application for s in seen if s.text == "SELECT 1"] == ["tieout"]


def test_sqlite_databases_are_files_of_the_test(sqlite_db):
    source, target = sqlite_db("source"), sqlite_db("target")
    source.execute("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
    source.executemany("INSERT INTO t VALUES (?)", [(2,), (3,)])
    assert source.rows("SELECT count(*) FROM t WHERE id > ?", 1) == [(2,)]
    assert target.rows("SELECT count(*) FROM sqlite_master") == [(0,)]
    assert source.url == f"sqlite:///{source.path}"


def test_a_server_that_dies_while_starting_says_why():
    process = ServerProcess("broken", accounts=("nobody",), stop_signal=signal.SIGTERM)
    process.start("/bin/sh", "-c", "echo no space on moon >&2; exit 3")
    try:
        with pytest.raises(ServerFailed, match=r"ended with 3 while starting:\nno space on moon"):
            process.wait_until(lambda: 1 / 0)
    finally:
        process.stop()
    assert not process.directory.exists()
