"""Values that their type does not have, and that no session would let in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.corruption.mariadb.files import declaration, declare

if TYPE_CHECKING:
    from tests.servers.server import Database


def redeclared_table(database: Database, table: str, statement: str) -> None:
    """The server takes the table for what `statement` makes as `twin`; its rows are as they were."""
    database.execute(statement)
    form = declaration(database, "twin")
    database.execute("DROP TABLE twin")
    declare(database, table, form)
