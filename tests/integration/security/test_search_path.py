"""Our sessions look names up in pg_catalog alone; what users wrote, where users' sessions would."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tieout.config.urls import parse_url
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.session import mover_session
from tieout.connectors.postgres.writer import open_writer
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.registry import open_endpoint
from tieout.errors import MissingObjectError
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.keys import EVERYTHING
from tieout.model.tables import Table, TableName

if TYPE_CHECKING:
    from tests.servers.server import Database

MADE = """
CREATE SCHEMA app;
CREATE TABLE app.item (id int PRIMARY KEY, name varchar(9));
CREATE TABLE app.log (id int);
CREATE FUNCTION app.is_live(n int) RETURNS boolean LANGUAGE sql AS 'SELECT n > 1';
CREATE FUNCTION app.note() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO log VALUES (NEW.id); RETURN NEW; END';
CREATE TRIGGER noted AFTER INSERT ON app.item FOR EACH ROW EXECUTE FUNCTION app.note();
CREATE FUNCTION app.fits(n int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN is_live(n); END';
CREATE TABLE app.held (id int CHECK (app.fits(id)));
INSERT INTO app.item VALUES (1, 'a'), (2, 'b'), (3, 'c');
"""


@pytest.fixture
def app(pg_db: Database) -> Database:
    pg_db.execute(MADE.replace("INSERT INTO app.item", "SET search_path = app; INSERT INTO app.item"))
    pg_db.execute(f'ALTER DATABASE "{pg_db.name}" SET search_path = app')
    return pg_db


def item(app: Database) -> Table:
    with closing(open_endpoint(parse_url(app.url))) as endpoint:
        return endpoint.describe([TableName("app", "item")])[0]


def test_every_session_begins_with_the_server_s_own_schema(app: Database) -> None:
    url = parse_url(app.url)
    with closing(connect(url, "test")) as connection, closing(mover_session(url)) as session:
        assert connection.execute("SHOW search_path").fetchone() == ("pg_catalog,pg_temp",)
        assert session.rows("SHOW search_path") == [("pg_catalog,pg_temp",)]


def test_a_condition_is_read_as_its_writer_meant_it(app: Database) -> None:
    table = item(app)
    columns = (ScanColumn(table.columns[0], Kind(Form.INTEGER), "id * 10"),)
    scan = Scan(table, columns, where="is_live(id) AND name <> 'c'")
    with closing(open_endpoint(parse_url(app.url))) as endpoint:
        assert endpoint.reader().count(scan, EVERYTHING) == 1
        assert [batch.column(0).to_pylist() for batch in endpoint.reader().read(scan, EVERYTHING)] == [[20]]


def test_triggers_of_a_repaired_table_find_what_they_name(app: Database) -> None:
    with closing(open_writer(parse_url(app.url))) as writer:
        writer.begin()
        writer.execute(writer.statements.insert(item(app), {"id": "7", "name": "x"}))
        assert writer.session.rows("SHOW search_path") == [("pg_catalog,pg_temp",)]
        writer.commit()
        assert writer.session.rows("SHOW search_path") == [("pg_catalog,pg_temp",)]
    assert app.rows("SELECT max(id) FROM app.log") == [(7,)]


def test_a_function_that_finds_nothing_is_told_with_the_remedy(app: Database) -> None:
    with closing(mover_session(parse_url(app.url))) as session:
        with pytest.raises(MissingObjectError, match=r"is_live.*app\.fits.*SET search_path"):
            session.execute("INSERT INTO app.held VALUES (5)")
        app.execute("ALTER FUNCTION app.fits SET search_path = app")
        assert session.execute("INSERT INTO app.held VALUES (5)") == 1
