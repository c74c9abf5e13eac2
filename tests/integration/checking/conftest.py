"""A database in which the pages of indexes can be read, and a few types of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers.server import Database

if TYPE_CHECKING:
    from tests.servers.mariadb import MariaDB
    from tests.servers.postgres import Postgres


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    everything = config.getoption("all_faults")
    return (collection_path.name == "test_changed_while_writing.py" and not everything) or None


@pytest.fixture(scope="session")
def template(postgres: Postgres) -> Iterator[Database]:
    """Extensions take longer to create than a database to copy."""
    with postgres.fresh_database() as database:
        database.execute("""
            CREATE EXTENSION pageinspect;
            CREATE EXTENSION citext;
            CREATE TYPE mood AS ENUM ('sad', 'ok');
            ALTER TYPE mood ADD VALUE 'it''s' BEFORE 'ok';
            CREATE DOMAIN tiny AS numeric CHECK (value < 10);
            CREATE DOMAIN small AS tiny CHECK (value > -10)""")
        yield database


@pytest.fixture
def db(postgres: Postgres, template: Database) -> Iterator[Database]:
    with postgres.copy_of(template.name) as database:
        postgres.set_time_zone(database.name, "Asia/Kolkata")
        yield database


@pytest.fixture(scope="module")
def spoilt_mariadb() -> Iterator[MariaDB]:
    """A server that is stopped to be spoilt: no other file's."""
    from tests.servers.mariadb import start_mariadb

    server = start_mariadb(time_zone="+00:00", server_id=9)
    yield server
    server.stop()


@pytest.fixture
def own(spoilt_mariadb: MariaDB) -> Iterator[Database]:
    with spoilt_mariadb.fresh_database() as database:
        yield database
