"""A filter, an expression or a choice of columns that is edited after a table was copied: rows of two definitions."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.integration.moving.ahead import prevents
from tests.integration.moving.pairs import EACH_ENGINE, ONE_OF_ALL, Moving
from tests.integration.moving.test_work_on_the_way import asking
from tieout import api
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_target
from tieout.errors import UnsupportedError, WriteError
from tieout.model.requests import MoveRequest, TableRequest, VerifyRequest

FIRST = TableRequest("w", where="a > 0", expressions={"c": ("a * 2", ""), "d": ("a", "")})
SAME = replace(FIRST, expressions={"d": ("a", ""), "c": ("a * 2", "")})
OTHER = TableRequest("w", where="a < 0", expressions={"c": ("a * 3", ""), "d": ("a", "")})
WORDS = (
    r"w: its rows were copied by another definition: where was 'a > 0' and is 'a < 0'; "
    r"the column c was 'a \* 2' and is 'a \* 3'"
)


def begun(moving: Moving) -> Moving:
    moving.source.execute("CREATE TABLE w (id INT PRIMARY KEY, a INT)")
    moving.source.execute("INSERT INTO w VALUES (1, 1), (2, -1)")
    asked = asking(moving, FIRST)
    asked.run()
    return asked


def looked(request: MoveRequest, meta: str) -> dict[str, str]:
    return prevents(api.preflight(VerifyRequest(request.source, request.target, request.tables), meta, move=request))


def there(moving: Moving) -> list[tuple[int, int, int]]:
    return sorted(moving.target.rows("SELECT id, a, c FROM w"))


@EACH_ENGINE
def test_rows_of_two_definitions_are_not_mixed(moving: Moving) -> None:
    asked = begun(moving)
    moving.source.execute("INSERT INTO w VALUES (3, -3), (4, 4)")
    other = asking(moving, OTHER)
    with pytest.raises(UnsupportedError, match=WORDS) as refused:
        other.run()
    again = f"tieout task restart {moving.request.task} {refused.value.message.partition(': ')[0]}"
    assert refused.value.hint == f"restore the old definition, or copy it again: {again}"
    ((line, fix),) = looked(other.request, moving.meta).items()
    assert re.search(WORDS, line)
    assert again in fix
    assert there(moving) == [(1, 1, 2)]
    asking(moving, SAME).run()
    assert there(moving) == [(1, 1, 2), (4, 4, 8)]
    assert looked(asked.request, moving.meta) == {}


@ONE_OF_ALL
def test_a_restart_takes_the_new_definition(moving: Moving) -> None:
    begun(moving)
    moving.source.execute("INSERT INTO w VALUES (3, -3), (4, 4)")
    other = asking(moving, OTHER)
    api.restart_table(other.request, "w", moving.meta)
    assert looked(other.request, moving.meta) == {}
    other.run()
    assert there(moving) == [(2, -1, -3), (3, -3, -9)]
    moving.source.execute("INSERT INTO w VALUES (5, -5), (6, 6)")
    other.run()
    assert there(moving) == [(2, -1, -3), (3, -3, -9), (5, -5, -15)]
    with pytest.raises(UnsupportedError, match="is 'a > 0'"):
        asking(moving, FIRST).run()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (TableRequest("w"), "where was 'a > 0' and is not given; the column c was .* and is not given"),
        (replace(FIRST, exclude_columns=("a",)), "exclude_columns was not given and is a"),
        (replace(FIRST, columns=("id", "a")), "columns was not given and is a, id"),
    ],
)
def test_what_else_is_another_definition(mariadb_to_postgres: Moving, table: TableRequest, words: str) -> None:
    begun(mariadb_to_postgres)
    with pytest.raises(UnsupportedError, match=words):
        asking(mariadb_to_postgres, table).run()


def test_merged_tables_can_not_be_copied_again_alone(mariadb_to_postgres: Moving) -> None:
    moving = mariadb_to_postgres
    for number in (1, 2):
        moving.source.execute(f"CREATE TABLE o_{number} (id INT PRIMARY KEY, a INT)")
    merged = TableRequest("o_*", "public.o", expressions={"shard": ("_table", "")})
    asking(moving, merged).run()
    with pytest.raises(UnsupportedError) as refused:
        asking(moving, replace(merged, where="a > 0")).run()
    assert "where was not given and is 'a > 0'" in refused.value.message
    found = looked(asking(moving, replace(merged, where="a > 0")).request, moving.meta)
    assert "restore the old definition, or drop the task and start over" in found.values()
    assert not any("task restart" in fix for fix in found.values())


def test_nothing_was_copied_by_the_first_definition(mariadb_to_postgres: Moving) -> None:
    """It failed for the first row: its author corrects it."""
    moving = mariadb_to_postgres
    moving.source.execute("CREATE TABLE w (id INT PRIMARY KEY, a INT)")
    moving.source.execute("INSERT INTO w VALUES (1, 70000)")
    moving.target.execute("CREATE TABLE w (id INT PRIMARY KEY, a INT, c SMALLINT)")
    with pytest.raises(WriteError):
        asking(moving, TableRequest("w", expressions={"c": ("a + 0", "")})).run()
    asking(moving, TableRequest("w", expressions={"c": ("CAST(a / 10 AS INT)", "")})).run()
    assert there(moving) == [(1, 70000, 7000)]
    with pytest.raises(UnsupportedError, match=r"the column c was 'CAST.* and is 'a / 20'"):
        asking(moving, TableRequest("w", expressions={"c": ("a / 20", "")})).run()


@pytest.mark.parametrize("moving", ["mariadb-postgres", "postgres-mariadb"], indirect=True)
def test_a_table_that_an_earlier_version_began(moving: Moving) -> None:
    """Nobody knows its definition: the present one counts."""
    begun(moving)
    target = open_target(parse_url(moving.target.url))
    table, version = target.progress.table("columns"), target.progress.table("version")
    target.session.execute(f"ALTER TABLE {table} DROP COLUMN definition")
    target.session.execute(f"UPDATE {version} SET version = 3")
    target.close()
    other = asking(moving, OTHER)
    assert looked(other.request, moving.meta) == {}
    other.run()
    with pytest.raises(UnsupportedError, match="is 'a > 0'"):
        asking(moving, FIRST).run()


def test_the_definition_changes_while_the_table_joins(
    mariadb_to_postgres: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving = mariadb_to_postgres
    moving.source.execute("CREATE TABLE first (id INT PRIMARY KEY)")
    asking(moving, TableRequest("first")).run()
    moving.source.execute("CREATE TABLE w (id INT PRIMARY KEY, a INT)")
    moving.source.execute("INSERT INTO w VALUES (1, 1), (2, -1)")

    def interrupt(place: str) -> None:
        if place == "joining-copied":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tieout.move.joining.reach", interrupt)
        with pytest.raises(KeyboardInterrupt):
            asking(moving, TableRequest("first"), FIRST).run()
    other = asking(moving, TableRequest("first"), OTHER)
    with pytest.raises(UnsupportedError, match=WORDS):
        other.run()
    asking(moving, TableRequest("first"), FIRST).run()
    assert there(moving) == [(1, 1, 2)]
