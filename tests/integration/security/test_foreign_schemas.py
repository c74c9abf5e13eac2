"""A user who may create schemas makes the one that movers keep their progress in, and waits for a mover."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from tieout import api
from tieout.errors import AccessError
from tieout.model.moves import Delivery
from tieout.model.requests import MoveRequest, TableRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

TRAP = """
CREATE SCHEMA _tieout;
CREATE TABLE _tieout.tieout_fence (task text, epoch bigint, owner text, PRIMARY KEY (task));
GRANT ALL ON SCHEMA _tieout TO PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA _tieout TO PUBLIC;
CREATE FUNCTION _tieout.trap() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN ALTER ROLE mallory2 SUPERUSER; RETURN NEW; END';
CREATE TRIGGER trap BEFORE INSERT ON _tieout.tieout_fence FOR EACH ROW EXECUTE FUNCTION _tieout.trap();
ALTER TABLE _tieout.tieout_fence ENABLE ALWAYS TRIGGER trap"""


def test_a_schema_of_somebody_else_is_not_written_to(
    spark: SparkSession, mysql_db: Database, pg_db: Database, tmp_path: Path
) -> None:
    mysql_db.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    pg_db.execute("CREATE ROLE mallory2 LOGIN PASSWORD 'm'")
    pg_db.execute(f'GRANT CREATE ON DATABASE "{pg_db.name}" TO mallory2')
    server = pg_db.server
    with psycopg.connect(
        host=server.host, port=server.port, dbname=pg_db.name, user="mallory2", password="m", autocommit=True
    ) as mallory:
        mallory.execute(TRAP)
    request = MoveRequest("trapped", mysql_db.url, pg_db.url, (TableRequest("t"),), Delivery.EXACTLY_ONCE)
    try:
        with pytest.raises(AccessError, match="belongs to mallory2"):
            api.run_move(request, spark=spark, meta=f"sqlite:///{tmp_path}/meta.db", until_caught_up=True)
        assert pg_db.rows("SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory2'") == [(False,)]
    finally:
        pg_db.execute("DROP OWNED BY mallory2 CASCADE; DROP ROLE mallory2")
    api.run_move(request, spark=spark, meta=f"sqlite:///{tmp_path}/meta.db", until_caught_up=True)
