"""Values exchanged between rows: no strategy may let one pass. The sums of weak hashes would not change."""

import random
from functools import cache

import numpy as np
import pytest

from tieout.canonical.fingerprint import digest, digests_by_bucket
from tieout.canonical.hashing import hash_values
from tieout.config.urls import parse_url
from tieout.connectors.protocols.endpoint import HashSpec, Scan, ScanColumn
from tieout.connectors.registry import open_endpoint
from tieout.connectors.sql.connection_cache import kept_open
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.digests import EMPTY
from tieout.model.keys import EVERYTHING
from tieout.verification.rows import collect

TRIALS = 300
ROWS = 20
COLUMNS = ("a", "b", "c", "d")
STRATEGIES = {
    "postgres native 64": ("pg_db", HashSpec(True, 64, 7)),
    "postgres native 128": ("pg_db", HashSpec(True, 128, 7)),
    "postgres pushdown": ("pg_db", HashSpec(False, 128, 7)),
    "postgres pull": ("pg_db", None),
    "mariadb pushdown": ("mysql_db", HashSpec(False, 128, 7)),
    "mariadb pull": ("mysql_db", None),
    "mariadb as sent": ("mysql_db", "as sent"),
}


def rows_of_one_trial(rng, trial):
    """Twenty rows, and the same with one value exchanged between two of them."""
    rows = [
        [
            trial * 1000 + row,
            rng.randrange(-50, 50),
            f"text {rng.randrange(9)}",
            rng.choice([0.1, -0.1, 1e9]),
            rng.randrange(9),
        ]
        for row in range(ROWS)
    ]
    while True:
        column = rng.randrange(1, 5)
        one, other = rng.sample(range(ROWS), 2)
        if rows[one][column] != rows[other][column]:
            break
    exchanged = [row[:] for row in rows]
    exchanged[one][column], exchanged[other][column] = rows[other][column], rows[one][column]
    return rows, exchanged


@pytest.fixture(params=STRATEGIES)
def strategy(request):
    fixture, spec = STRATEGIES[request.param]
    return request.getfixturevalue(fixture), spec


def test_no_exchange_goes_unseen(strategy):
    database, spec = strategy
    rng = random.Random(20261115)
    for table in ("plain", "exchanged"):
        database.execute(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b VARCHAR(20), c DOUBLE PRECISION, d NUMERIC(9, 2))"
        )
    trials = [rows_of_one_trial(rng, trial) for trial in range(TRIALS)]
    for table, which in (("plain", 0), ("exchanged", 1)):
        database.executemany(
            f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s)", [row for trial in trials for row in trial[which]]
        )
    endpoint = open_endpoint(parse_url(database.url))
    digests = pulled if spec is None else sent if spec == "as sent" else hashed_there
    with kept_open():
        plain, exchanged = (digests(endpoint, table, spec) for table in ("plain", "exchanged"))
    endpoint.close()
    assert {found.count for found in (*plain, *exchanged)} == {ROWS}
    assert len(plain) == len(exchanged) == TRIALS
    assert [trial for trial in range(TRIALS) if plain[trial] == exchanged[trial]] == []


def hashed_there(endpoint, table, spec):
    """The digest of each trial's rows, by the engine."""
    reader = endpoint.reader()
    return [reader.digest(of_trial(endpoint, table, trial), EVERYTHING, spec) for trial in range(TRIALS)]


def pulled(endpoint, table, spec):
    """The same, of rows read at once."""
    wanted = scan(endpoint, table, None)
    rows = collect(wanted, endpoint.reader().read(wanted, EVERYTHING))
    trials = np.array([int(rows.text(row, 0)) // 1000 for row in range(len(rows))], dtype=np.uint32)
    found = digests_by_bucket(rows.prints, trials)
    return [found[trial] for trial in range(TRIALS)]


def sent(endpoint, table, spec):
    """The same, of the bytes that the server sends."""
    reader = endpoint.reader()
    return [
        sum(
            (digest(hash_values(rows)) for rows in reader.raw_rows(of_trial(endpoint, table, trial), EVERYTHING)), EMPTY
        )
        for trial in range(TRIALS)
    ]


def of_trial(endpoint, table, trial):
    return scan(endpoint, table, f"id BETWEEN {trial * 1000} AND {trial * 1000 + 999}")


def scan(endpoint, table, where):
    described = described_once(endpoint, table)
    kinds = [common_kind(column.type, column.type) for column in described.columns]
    assert all(isinstance(kind, Kind) for kind in kinds)
    return Scan(described, tuple(map(ScanColumn, described.columns, kinds)), (0,), (0,), where)


@cache
def described_once(endpoint, table):
    (name,) = [name for name in endpoint.tables() if name.name == table]
    return endpoint.describe([name])[0]
