"""The view on a target that says how current its tables are."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.variants import later


def versions(moving: Moving) -> dict[str, tuple[Any, ...]]:
    schema = "_tieout." if moving.target.server.scheme == "postgresql" else ""
    rows = moving.target.rows(
        "SELECT target_table, state, log_position, as_of, changed_by, changed_at, consistent "
        f"FROM {schema}tieout_table_versions"
    )
    return {str(name).split(".")[1]: tuple(rest) for name, *rest in rows}


def moment(value: datetime) -> float:
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()


@pytest.mark.parametrize("moving", ["mariadb-postgres", later("postgres-mariadb"), "mariadb-mariadb"], indirect=True)
def test_how_current_the_tables_are(moving: Moving) -> None:
    for table in ("first", "second"):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
    asked = moving.asking("first", "second")
    asked.run()
    assert None not in {position for _, position, *_ in versions(moving).values()}, "though the log had nothing"
    before = time.time() - 1
    moving.source.execute("INSERT INTO first VALUES (1)")
    told = asked.run()
    found = versions(moving)
    assert found.keys() == {"first", "second"}
    state, position, as_of, changed_by, changed_at, consistent = found["first"]
    assert (state, position, consistent) == ("following", told["position"], 1)
    assert before < moment(as_of) < time.time() + 1
    assert moment(as_of) == moment(changed_at)
    assert changed_by
    assert found["second"][:3] == ("following", position, as_of), "nothing happened to it, and it is as current"
    assert found["second"][3:5] == (None, None)
    moving.source.execute("ALTER TABLE second DROP COLUMN id, ADD COLUMN other INT")
    moving.source.execute("INSERT INTO second VALUES (1)")
    moving.source.execute("INSERT INTO first VALUES (2)")
    asked.run()
    found = versions(moving)
    assert found["second"] == ("stopped", None, None, None, None, 0)
    assert (found["first"][0], found["first"][5]) == ("following", 1)
    moving.drop()
    schema = "_tieout" if moving.target.server.scheme == "postgresql" else moving.target.name
    left = moving.target.rows("SELECT table_name FROM information_schema.views WHERE table_schema = %s", schema)
    assert left == []
