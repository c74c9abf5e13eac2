"""Two tables that are moved: what befalls one of them is no reason to stop the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.integration.moving.pairs import Moving

ONE = "CREATE TABLE one (id INT PRIMARY KEY, a INT)"
TWO = "CREATE TABLE two (id INT PRIMARY KEY, a INT)"


def like_one(name: str) -> str:
    return ONE.replace("one", name)


def begin(moving: Moving, *one: str) -> Moving:
    """`one` are statements that make the first table, if it is to be another."""
    return begin_with(moving, {"one": one or (ONE,)})


def begin_with(moving: Moving, made: Mapping[str, Iterable[str]]) -> Moving:
    """Several tables in the place of the first one, by name: the statements that make each."""
    for statements in (*made.values(), (TWO,)):
        for statement in statements:
            moving.source.execute(statement)
    for table in (*made, "two"):
        moving.source.executemany(f"INSERT INTO {table} VALUES (%s, 0)", [(n,) for n in range(20)])
    asked = moving.asking(*made, "two")
    asked.run()
    return asked
