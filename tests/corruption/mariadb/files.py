"""A table's files, read and put back behind the server's back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.corruption.errors import NotDone
from tests.corruption.mariadb.session import engine_of, quoted

if TYPE_CHECKING:
    from tests.servers.server import Database, Server

PAGE = 16384
INDEX_PAGE = (17855).to_bytes(2, "big")

# How an engine calls the file of a table's rows, and that of all of its indexes.
SUFFIXES = {"MyISAM": (".MYD", ".MYI"), "Aria": (".MAD", ".MAI")}


@contextmanager
def blind(database: Database, table: str, index: str) -> Iterator[None]:
    """What the block changes in the table does not reach the index; of MyISAM and Aria, none of the table's indexes.

    An InnoDB server is stopped, edited and started again when the block ends.
    """
    engine = engine_of(database, table)
    if engine == "InnoDB":
        purge(database)
        pages = pages_of(database, table, index)
        yield
        put_back(database, pages)
    elif engine in SUFFIXES:
        rows, indexes = (_directory(database) / f"{table}{suffix}" for suffix in SUFFIXES[engine])
        close(database, table)
        before, length = indexes.read_bytes(), rows.stat().st_size
        yield
        close(database, table)
        if rows.stat().st_size != length:
            raise NotDone(f"{table} has grown, and its indexes don't know where it ends")
        indexes.write_bytes(before)
    else:
        raise NotDone(f"{table} is of {engine}")


def close(database: Database, table: str) -> None:
    """All that the server has of the table is in its files."""
    database.execute(f"FLUSH TABLES {quoted(table)}")


def declaration(database: Database, table: str) -> bytes:
    """What the server takes the table for, in the server's own form."""
    close(database, table)
    return _declared(database, table).read_bytes()


def declare(database: Database, table: str, form: bytes) -> None:
    """The server takes the table for something else; the engine knows nothing of it."""
    close(database, table)
    _declared(database, table).write_bytes(form)


# ------------------------------------------------------------------------------------------------------- InnoDB


@dataclass(frozen=True)
class Pages:
    """The pages of one index at one time, by their place in `path`."""

    path: Path
    index: int
    content: dict[int, bytes]


def pages_of(database: Database, table: str, index: str) -> Pages:
    number, path = _place(database, table, index)
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"FLUSH TABLES {quoted(table)} FOR EXPORT")
        return Pages(path, number, _read(path, number))


def put_back(database: Database, *several: Pages) -> None:
    """The indexes are again as they were: their pages are put back whole, and those that they got since lie unused."""
    with stopped(database.server):
        for pages in several:
            if pages.content.keys() - _read(pages.path, pages.index).keys():
                raise NotDone("pages of the index were given away; change fewer rows")
            with pages.path.open("r+b") as file:
                for place, page in pages.content.items():
                    file.seek(place)
                    file.write(page)


def purge(database: Database) -> None:
    """Waits until what was deleted before is gone from the pages."""
    database.execute("SET GLOBAL innodb_max_purge_lag_wait = 0")


@contextmanager
def unpurged(database: Database) -> Iterator[None]:
    """What is deleted in the block is only marked so: someone could still want to see it."""
    with database.connect() as reader, reader.cursor() as cursor:
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        yield


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    """The server is down in the block, with all that it knows in its files, and then runs as before."""
    server.execute(None, "SET GLOBAL innodb_fast_shutdown = 0")
    process: Any = server.process._process
    command = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")[:-1]
    process.send_signal(server.process._stop_signal)
    process.wait(timeout=60)
    try:
        yield
    finally:
        server.process.start(*(word for word in command if not word.startswith("--init-file")))
        server.process.wait_until(lambda: server.execute(None, "SELECT 1"))


def _place(database: Database, table: str, index: str) -> tuple[int, Path]:
    """The number of an index, and the file that it is in."""
    found = database.rows(
        "SELECT i.index_id, @@datadir, s.filename FROM information_schema.innodb_sys_tables t"
        " JOIN information_schema.innodb_sys_indexes i ON i.table_id = t.table_id"
        " JOIN information_schema.innodb_sys_tablespaces s ON s.space = t.space"
        " WHERE t.name = %s AND i.name = %s",
        f"{database.name}/{table}",
        index,
    )
    if len(found) != 1 or index == "PRIMARY":
        raise NotDone(f"{table} has no index {index} that is not the table itself")
    number, directory, file = found[0]
    return number, Path(directory, file)


def _read(path: Path, index: int) -> dict[int, bytes]:
    data = path.read_bytes()
    pages = {place: data[place : place + PAGE] for place in range(0, len(data), PAGE)}
    number = index.to_bytes(8, "big")
    return {place: page for place, page in pages.items() if page[24:26] == INDEX_PAGE and page[66:74] == number}


def _declared(database: Database, table: str) -> Path:
    return _directory(database) / f"{table}.frm"


def _directory(database: Database) -> Path:
    return Path(database.rows("SELECT @@datadir")[0][0], database.name)
