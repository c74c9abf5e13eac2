"""Two tables that are moved: what befalls one of them is no reason to stop the other."""

from __future__ import annotations

from tests.integration.moving.pairs import Moving

ONE = "CREATE TABLE one (id INT PRIMARY KEY, a INT)"
TWO = "CREATE TABLE two (id INT PRIMARY KEY, a INT)"


def begin(moving: Moving, *one: str) -> Moving:
    """`one` are statements that make the first table, if it is to be another."""
    for statement in (*(one or (ONE,)), TWO):
        moving.source.execute(statement)
    for table in ("one", "two"):
        moving.source.executemany(f"INSERT INTO {table} VALUES (%s, 0)", [(n,) for n in range(20)])
    asked = moving.asking("one", "two")
    asked.run()
    return asked
