"""What happens to a log as a whole: restarts, purged files, another server in its place."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.binlog.following import Followed
from tests.servers.mariadb import MariaDB, start_mariadb
from tieout.config.urls import parse_url
from tieout.connectors.mysql.flavour import Flavour
from tieout.connectors.mysql.moving.source_readiness import source_problems
from tieout.errors import LogLostError
from tieout.model.positions import Position
from tieout.model.tables import Table, TableName


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDB]:
    settings = {"innodb-log-file-size": "8M", "binlog-ignore-db": "unlogged"}
    server = start_mariadb(time_zone="+00:00", server_id=9, settings=settings)
    yield server
    server.stop()


@pytest.fixture
def followed(server: MariaDB) -> Iterator[Followed]:
    with server.fresh_database() as database:
        database.execute("CREATE TABLE t (id INT NOT NULL PRIMARY KEY)")
        yield Followed(database)


def insert(followed: Followed, *numbers: int) -> Position:
    """A transaction for each."""
    followed.database.execute(";".join(f"INSERT INTO t VALUES ({number})" for number in numbers))
    return followed.log.now()


def numbers(followed: Followed, after: Position, upto: Position | None = None) -> list[int]:
    items = followed.items("t", after=after, upto=upto)
    return [row[0] for item in items for row in getattr(item, "rows", ())]


def restart(server: MariaDB, stop: signal.Signals) -> None:
    """With the settings that it had, over the data that it has."""
    process: Any = server.process._process
    command = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")[:-1]
    process.send_signal(stop)
    process.wait(timeout=30)
    server.process.start(*(word for word in command if not word.startswith("--init-file")))
    server.process.wait_until(lambda: server.execute(None, "SELECT 1"))


def purge(server: MariaDB, oldest: str) -> None:
    """The server keeps a file until all that is in it has reached the tables too."""

    def purged() -> None:
        server.execute(None, f"PURGE BINARY LOGS TO '{oldest}'")
        assert server.rows(None, "SHOW BINARY LOGS")[0][0] == oldest

    server.process.wait_until(purged)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_restart_in_between(followed: Followed, server: MariaDB, stop: signal.Signals) -> None:
    before = insert(followed, 1)
    server.execute(None, "FLUSH BINARY LOGS")  # what was written reaches the disk
    restart(server, stop)
    insert(followed, 2)
    assert numbers(followed, followed.begin) == [1, 2]
    assert numbers(followed, before) == [2]
    assert len(followed.log.ends(followed.begin, 1, 10)) >= 2


def test_a_file_that_is_gone_is_found_by_its_gtids(followed: Followed) -> None:
    after = insert(followed, 1, 2)
    upto = insert(followed, 3, 4)
    moved = Position(f"other.000999:4711@{after.gtids}")
    assert numbers(followed, moved, upto) == [3, 4]
    ends = followed.log.ends(moved, 1, 10)
    assert [end.place for end in ends] == [end.place for end in followed.log.ends(after, 1, 10)]
    assert ends[-1].gtids == upto.gtids
    with pytest.raises(LogLostError, match=r"other\.000999:5000 is not a place"):
        numbers(followed, moved, Position("other.000999:5000"))


def test_several_domains_are_found_by_their_gtids(followed: Followed) -> None:
    with followed.database.connect() as connection, connection.cursor() as cursor:
        for number in range(6):
            cursor.execute(f"SET SESSION gtid_domain_id = {number % 3}")
            cursor.execute(f"INSERT INTO t VALUES ({number})")
    ends = followed.log.ends(followed.begin, 1, 10)
    for seen, low in enumerate(ends, start=1):
        for count, high in enumerate(ends, start=1):
            found = numbers(followed, Position(f"other.000999:4711@{low.gtids}"), high)
            assert found == list(range(seen, count)), f"{low} to {high}"


def test_purged_files(followed: Followed, server: MariaDB) -> None:
    first = insert(followed, 1)
    bare = Position(f"{first.file}:{first.offset}")
    server.execute(None, "FLUSH BINARY LOGS")
    second = insert(followed, 2)
    purge(server, second.file)
    for gone in (followed.begin, Position(f"{followed.begin.file}:{followed.begin.offset}"), bare):
        with pytest.raises(LogLostError, match="no longer reaches back"):
            numbers(followed, gone)
        with pytest.raises(LogLostError, match="no longer reaches back"):
            followed.log.ends(gone, 1, 10)
    # Nothing behind its GTIDs was purged.
    assert numbers(followed, first) == [2]


def test_an_xa_transaction_whose_first_part_was_purged(followed: Followed, server: MariaDB) -> None:
    """It may have changed any table."""
    with followed.database.connect() as connection, connection.cursor() as cursor:
        for statement in ("XA START 'a'", "INSERT INTO t VALUES (1)", "XA END 'a'", "XA PREPARE 'a'"):
            cursor.execute(statement)
    server.execute(None, "FLUSH BINARY LOGS")
    after = followed.log.now()
    purge(server, after.file)
    followed.database.execute("XA COMMIT 'a'")
    with pytest.raises(LogLostError, match=r"XA transaction .* was prepared in no part of the log"):
        numbers(followed, after)


def test_a_log_that_was_begun_anew(followed: Followed, server: MariaDB) -> None:
    before = insert(followed, *range(1, 9))
    server.execute(None, "RESET MASTER")
    with pytest.raises(LogLostError):
        followed.log.ends(before, 1, 10)
    with pytest.raises(LogLostError):
        numbers(followed, before)
    insert(followed, *range(9, 40))
    earlier = Position(f"bin.000001:500@{before.gtids.replace('-9-', '-9-10')}")
    with pytest.raises(LogLostError, match="begun anew"):
        followed.log.ends(earlier, 1, 10)


def test_a_log_that_ends_too_early(followed: Followed) -> None:
    now = insert(followed, 1)
    with pytest.raises(LogLostError, match="ends before"):
        numbers(followed, followed.begin, Position(f"{now.file}:{now.offset + 1}"))


def test_checksums_may_change(followed: Followed, server: MariaDB) -> None:
    insert(followed, 1)
    for number, kind in enumerate(("NONE", "CRC32"), start=2):
        server.execute(None, f"SET GLOBAL binlog_checksum = {kind}")
        insert(followed, number)
        assert numbers(followed, followed.begin) == list(range(1, number + 1))


def test_a_schema_that_is_left_out_of_the_log(followed: Followed, server: MariaDB) -> None:
    """A mover would copy its tables, and never hear of them again."""
    server.execute(None, "CREATE DATABASE unlogged; CREATE TABLE unlogged.t (id INT PRIMARY KEY)")
    tables = [Table(TableName(schema, "t"), ()) for schema in (followed.database.name, "unlogged")]
    found = source_problems(parse_url(followed.database.url), Flavour.MARIADB, tables)
    assert [problem.message for problem in found] == ["changes of unlogged are not written to the log"]
