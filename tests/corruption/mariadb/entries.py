"""Entries of an index that disagree with the table.

MyISAM and Aria have all indexes of a table in one file: there, no index of the table knows what this one doesn't.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.corruption.errors import NotDone
from tests.corruption.mariadb.files import blind, declaration, declare, pages_of, purge, put_back, unpurged
from tests.corruption.mariadb.session import Values, change, engine_of, kept, put, quoted, remove

if TYPE_CHECKING:
    from tests.servers.server import Database


def missing_entry(database: Database, table: str, index: str, where: str) -> None:
    """The rows are as they were; the index has no entry for them.

    MyISAM and Aria take their places for free: the next row that is inserted overwrites one of them.
    """
    with kept(database, table, where):
        remove(database, table, where)
        with blind(database, table, index):
            put(database, table)


def delete_marked_entry(database: Database, table: str, index: str, where: str) -> None:
    """The rows are as they were; the index has their entries, marked as those of deleted rows. Of InnoDB only."""
    _innodb(database, table)
    with kept(database, table, where):
        with unpurged(database):
            remove(database, table, where)
            pages = pages_of(database, table, index)
        put(database, table)
        put_back(database, pages)


def dangling_entry(database: Database, table: str, index: str, where: str) -> None:
    """The rows are gone from the table; the index still has their entries."""
    with blind(database, table, index):
        remove(database, table, where)


def wrong_row_entry(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """The rows are gone and others, with `values`, have their primary keys. The index has the entries of both.

    Of InnoDB only. An entry leads to its row by primary key: `values` leave it as it is.
    """
    _innodb(database, table)
    with kept(database, table, where, values):
        with blind(database, table, index):
            remove(database, table, where)
        put(database, table)
    # CHECK TABLE … EXTENDED finds nothing wrong until the server has forgotten what was there before.
    purge(database)


def stale_entry(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """The rows have `values`; the index has one entry for each, of what it was before.

    Where `values` change the primary key of an InnoDB table, the entry leads to the old one: to no row, or to another.
    """
    with blind(database, table, index):
        change(database, table, values, where)


def duplicate_entry(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """The index holds the key of the row twice, as there is a second row like it but for `values`.

    It is declared UNIQUE, and the engine has forgotten it: further duplicates are not refused.
    """
    form = declaration(database, table)
    columns = _columns_of(database, table, index)
    database.execute(f"ALTER TABLE {quoted(table)} DROP INDEX {quoted(index)}, ADD INDEX {quoted(index)} ({columns})")
    with kept(database, table, where, values):
        put(database, table)
    declare(database, table, form)


def duplicate_without_entry(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """There is a second row like this one but for `values`, and the unique index has an entry for that one only.

    Of InnoDB only.
    """
    _innodb(database, table)
    missing_entry(database, table, index, where)
    with kept(database, table, where, values):
        put(database, table)


def _innodb(database: Database, table: str) -> None:
    if (engine := engine_of(database, table)) != "InnoDB":
        raise NotDone(f"{table} is of {engine}")


def _columns_of(database: Database, table: str, index: str) -> str:
    parts = database.rows(
        "SELECT column_name, sub_part, collation FROM information_schema.statistics"
        " WHERE table_schema = DATABASE() AND table_name = %s AND index_name = %s AND non_unique = 0"
        " AND index_name <> 'PRIMARY' ORDER BY seq_in_index",
        table,
        index,
    )
    if not parts:
        raise NotDone(f"{table} has no unique index {index} that can be made anew")
    return ", ".join(
        f"{quoted(column)}{f'({length})' if length else ''}{' DESC' if order == 'D' else ''}"
        for column, length, order in parts
    )
