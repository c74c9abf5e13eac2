"""Values that their type does not have, and that no session would let in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.corruption.mariadb.files import declaration, declare

if TYPE_CHECKING:
    from tests.servers.server import Database


def redeclared_table(database: Database, table: str, statement: str) -> None:
    """The server takes the table for what `statement` makes as `twin`; its rows are as they were."""
    database.execute(statement)
    redeclared_as_twin(database, table)


def redeclared_as_twin(database: Database, table: str) -> None:
    """The same, of a `twin` that is there. Indexes are as they were, too: in the order of what they were made with."""
    form = declaration(database, "twin")
    database.execute("DROP TABLE twin")
    declare(database, table, form)
