"""Every type between every two engines: copied and followed, rows are the same afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.matrix.columns import MARIADB, POSTGRES
from tests.integration.moving.columns import COLUMNS_OF, REFUSED
from tests.integration.moving.moved import FEW, Texts, both_sides, engines_of, move_wide
from tests.integration.moving.pairs import ACROSS, Moving, remarks_of
from tests.integration.moving.wide import ROWS, Wide
from tests.variants import later
from tieout.errors import UnsupportedError
from tieout.model.results import Verdict

if TYPE_CHECKING:
    from tests.servers.server import Database

GONE, REKEYED, OF_NULLS = 2, 1, 2
"""Rows that are changed in the log; the last two are of tables with NULLs."""


@pytest.mark.parametrize("moving", [*ACROSS, later("mariadb-mariadb"), later("postgres-postgres")], indirect=True)
def test_every_type_is_copied_and_followed(moving: Moving) -> None:
    seen = move_wide(moving)

    for moment in seen:
        for table in moment.verified.tables:
            assert (table.verdict, table.unverified_columns) == (Verdict.EQUAL, ()), moment.verified.differences[:5]
        for texts in moment.texts:
            assert _differences(*texts) == []
    assert [table["rows_copied"] for table in seen[0].status["tables"]] == [ROWS + 1, FEW, ROWS + 1]
    assert seen[1].status["changes"] == _changes(FEW) + 2 * (_changes(ROWS) + REKEYED + OF_NULLS)
    assert remarks_of(seen[1].status) == []
    assert [table["stopped"] for table in seen[1].status["tables"]] == [None] * 3


def _changes(rows: int) -> int:
    """Of a table that had so many: some get other values, two go, and as many come."""
    return len(range(0, rows, 3)) + GONE + rows


def _differences(source: Texts, target: Texts) -> list[Any]:
    """Row by row: the columns that are not the same, with both texts."""
    found = [
        {name: (text, other[name]) for name, text in row.items() if text != other[name]}
        for row, other in zip(source, target, strict=True)
    ]
    return [row for row in found if row]


@pytest.mark.parametrize("moving", ["mariadb-postgres", "postgres-mariadb"], indirect=True)
def test_what_the_target_has_no_type_for_is_refused_by_name(moving: Moving) -> None:
    """All columns in one message, and before any table is made: the one that could have been made is not there."""
    source, _ = both_sides(moving)
    refused = REFUSED[engines_of(moving)]
    columns = [c for c in COLUMNS_OF[source.engine] if c.name in ("vc", "int", *refused)]
    with source.open():
        source.set_up()
        if source.engine == POSTGRES:
            source.run("CREATE DOMAIN positive AS integer")
            source.run("CREATE DOMAIN ip_domain AS inet")
        Wide(source, columns, "refused").create()
        Wide(source, columns, "refused_too").create()
        source.run("CREATE TABLE fine (id INT PRIMARY KEY)")
        source.run("INSERT INTO fine VALUES (1)")

    with pytest.raises(UnsupportedError) as caught:
        moving.asking("fine", "refused", "refused_too").run()

    message = caught.value.message
    for table in ("refused", "refused_too"):
        schema = moving.source.name if source.engine == MARIADB else "public"
        named = [
            part.split(": ")[0].removeprefix(f"{schema}.{table}.") for part in _parts(message, f"{schema}.{table}.")
        ]
        assert sorted(named) == sorted(refused)
    assert "\n" not in message
    assert _tables(moving.target) == []


def _parts(message: str, prefix: str) -> list[str]:
    return [part for part in message.replace("the target can't hold ", "").split("; ") if part.startswith(prefix)]


def _tables(database: Database) -> list[str]:
    schema = database.name if database.server.scheme == "mysql" else "public"
    found = database.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", schema)
    return [name for (name,) in found if not name.startswith("tieout_")]
