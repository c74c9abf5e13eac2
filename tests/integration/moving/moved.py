"""A pair of databases between which tables of every type were moved: copied, and then followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.integration.matrix.columns import MARIADB, POSTGRES
from tests.integration.matrix.columns import columns_of as columns_of_both
from tests.integration.matrix.engines import TestDatabase
from tests.integration.moving.columns import NOT_TAKEN, columns_of, required
from tests.integration.moving.pairs import Moving
from tests.integration.moving.wide import Wide
from tieout import api
from tieout.model.results import VerificationResult

ENGINES = {"mysql": MARIADB, "postgresql": POSTGRES}
Texts = list[dict[str, str]]

FEW = 9
"""Rows of the table without NULLs: enough to see that its types are staged."""


@dataclass
class Sides:
    """One table on both sides."""

    source: Wide
    target: Wide

    @property
    def alike(self) -> bool:
        return self.source.side.engine == self.target.side.engine


@dataclass
class Seen:
    """What was on both sides at one moment. `texts` are those of tables that both servers write the same way."""

    status: dict[str, Any]
    verified: VerificationResult
    texts: list[tuple[Texts, Texts]]


def verified(moving: Moving) -> VerificationResult:
    return api.verify(
        moving.source.url,
        moving.target.url,
        [table.source for table in moving.request.tables],
        spark=moving.spark,
        meta=moving.meta,
        recheck_times=0,
    )


def engines_of(moving: Moving) -> tuple[str, str]:
    return ENGINES[moving.source.server.scheme], ENGINES[moving.target.server.scheme]


def both_sides(moving: Moving) -> tuple[TestDatabase, TestDatabase]:
    source, target = engines_of(moving)
    return (
        TestDatabase(source, moving.source, is_source=True),
        TestDatabase(target, moving.target, is_source=False),
    )


def wide_tables(moving: Moving) -> list[Sides]:
    """Two that the mover makes, with and without NULLs; and one that is there, with types that somebody chose."""
    source, target = both_sides(moving)
    made = columns_of(source.engine, target.engine)
    left_out = NOT_TAKEN.get((source.engine, target.engine), ())
    chosen = tuple(column for column in columns_of_both(source.engine, target.engine) if column.name not in left_out)
    whole = required(made, source.engine)
    return [
        Sides(Wide(source, made, "made"), Wide(target, made, "made")),
        Sides(Wide(source, whole, "whole", nullable=False, rows=FEW), Wide(target, whole, "whole")),
        Sides(Wide(source, chosen, "there"), Wide(target, chosen, "there")),
    ]


def move_wide(moving: Moving) -> list[Seen]:
    """What is there when the tables are copied, and when their changes are followed."""
    tables = wide_tables(moving)
    source, there = tables[0].source.side, tables[-1].target
    with source.open():
        source.set_up()
        if source.engine == POSTGRES:
            source.run("CREATE DOMAIN positive AS integer CHECK (VALUE > 0)")
            source.run("CREATE DOMAIN ip_domain AS inet")
        for table in tables:
            table.source.create()
            table.source.fill()
    with there.side.open():
        there.side.set_up()
        there.create()
    asked = moving.asking("made", "whole", "there", chunk_rows=15)
    seen = [_seen(asked, tables)]
    with source.open():
        for table in tables:
            table.source.change()
    return [*seen, _seen(asked, tables)]


def _seen(moving: Moving, tables: Sequence[Sides]) -> Seen:
    status = moving.run()
    # What was there may be in another character set.
    texts = [(made.source.texts(), made.target.texts()) for made in tables[:2] if made.alike]
    return Seen(status, verified(moving), texts)
