"""Servers and Spark, started when a test first asks for them; databases that are a test's own.

Nothing is skipped where a server's programs are missing: the test fails and says `make servers`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import hypothesis
import pytest

from tests.scratch import use_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.duckdb import DuckDBDatabase
    from tests.servers.mariadb import MariaDB
    from tests.servers.postgres import Postgres
    from tests.servers.server import Database
    from tests.servers.sqlite import SqliteDatabase

    Pair: TypeAlias = tuple[Database, Database]

use_memory()
# What runs for seconds has nothing of code that Java takes seconds to make fast: of every session, every program.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
CLASSES = Path(sys.prefix, "spark.jsa")
"""Spark's classes as Java has them in memory; `make test` has them made."""
if CLASSES.exists():
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-XX:SharedArchiveFile={CLASSES} -Xlog:cds=off -Xlog:cds+dynamic=off")

# How long an example takes says how busy the machine is, and nothing else.
hypothesis.settings.register_profile("tieout", deadline=None)
hypothesis.settings.load_profile("tieout")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-faults", action="store_true", help="kill movers at every place, not at a few")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all-faults"):
        return
    later = [item for item in items if item.get_closest_marker("thorough")]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in later]


@pytest.fixture(autouse=True)
def fresh_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test's URLs hold as a password is an ordinary word in the next one's messages."""
    from tieout.config import secrets

    monkeypatch.setattr(secrets, "_registry", secrets.SecretRegistry())


# No two sessions that a test compares have the same time zone: nothing may depend on it.


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    from tests.servers.mariadb import start_mariadb

    server = start_mariadb(time_zone="+02:00", server_id=1)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mariadb_b() -> Iterator[MariaDB]:
    from tests.servers.mariadb import start_mariadb

    server = start_mariadb(time_zone="-07:00", server_id=2)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    from tests.servers.postgres import start_postgres

    server = start_postgres()
    yield server
    server.stop()


@pytest.fixture
def mysql_db(mariadb: MariaDB) -> Iterator[Database]:
    with mariadb.fresh_database() as database:
        yield database


@pytest.fixture
def mysql_db_b(mariadb_b: MariaDB) -> Iterator[Database]:
    with mariadb_b.fresh_database() as database:
        yield database


@pytest.fixture
def pg_db(postgres: Postgres) -> Iterator[Database]:
    with postgres.fresh_database() as database:
        postgres.set_time_zone(database.name, "Asia/Kolkata")
        yield database


@pytest.fixture
def pg_db_b(postgres: Postgres) -> Iterator[Database]:
    with postgres.fresh_database() as database:
        postgres.set_time_zone(database.name, "America/St_Johns")
        yield database


@pytest.fixture
def fresh_mysql_pair(mysql_db: Database, mysql_db_b: Database) -> Pair:
    """Source and target on two servers."""
    return mysql_db, mysql_db_b


@pytest.fixture
def fresh_postgres_pair(pg_db: Database, pg_db_b: Database) -> Pair:
    """Source and target in one cluster."""
    return pg_db, pg_db_b


@pytest.fixture
def sqlite_db(tmp_path: Path) -> Callable[[str], SqliteDatabase]:
    """Makes an empty file: sqlite_db("source")."""
    from tests.servers.sqlite import SqliteDatabase

    def create(name: str = "db") -> SqliteDatabase:
        return SqliteDatabase(tmp_path / f"{name}.db")

    return create


@pytest.fixture
def duckdb_db(tmp_path: Path) -> Callable[[str], DuckDBDatabase]:
    """Makes an empty file: duckdb_db("source")."""
    from tests.servers.duckdb import DuckDBDatabase

    def create(name: str = "db") -> DuckDBDatabase:
        return DuckDBDatabase(tmp_path / f"{name}.duckdb")

    return create


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from tieout.spark.session import start_session

    # Before anything of Spark's starts: what a test writes there later, all of its processes find.
    os.environ["TIEOUT_FAILPOINT"] = str(tmp_path_factory.mktemp("failpoint") / "chosen")

    session = start_session(
        master="local[2]",
        conf={"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"},
    )
    yield session
    session.stop()
