"""The connectors that keep the contract. A new one joins with one line."""

import pytest

CONNECTORS = {
    "mysql": "mysql_db",
    "postgres": "pg_db",
    "sqlite": "sqlite_database",
}


@pytest.fixture
def sqlite_database(sqlite_db):
    return sqlite_db("contract")


@pytest.fixture(params=CONNECTORS)
def database(request):
    return request.getfixturevalue(CONNECTORS[request.param])
