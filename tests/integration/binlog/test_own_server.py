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
from tieout.connectors.mysql.move.preflight import source_problems
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.errors import LogLostError, UnreachableError
from tieout.model.positions import Position
from tieout.model.row_changes import Reached
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


def reached(followed: Followed, upto: Position | None = None) -> Position:
    """Where a reader of all that there is has come to."""
    *_, last = followed.log.read(followed.begin, upto or followed.log.now(), frozenset({followed.table("t")}))
    assert isinstance(last, Reached)
    return last.position


def elsewhere(position: Position) -> Position:
    """The same transactions, as another server wrote them."""
    return Position(f"other.000999:4711@{position.gtids}#77.4711!{position.commit}")


def test_a_file_that_is_gone_is_found_by_its_gtids(followed: Followed) -> None:
    insert(followed, 1, 2)
    after = reached(followed)
    upto = insert(followed, 3, 4)
    found = followed.log.resume(elsewhere(after))
    assert found == after
    assert numbers(followed, found, upto) == [3, 4]
    for gtids in ("", "@0-9-4711", f"@{after.gtids},77-1-1"):
        with pytest.raises(LogLostError, match="does not continue"):
            followed.log.resume(Position(f"other.000999:4711{gtids}#77.4711!{after.commit}"))
    with pytest.raises(LogLostError, match="nothing proves that"):
        followed.log.resume(Position(f"other.000999:4711@{after.gtids}#77.4711"))


def test_several_domains_are_found_by_their_gtids(followed: Followed) -> None:
    with followed.database.connect() as connection, connection.cursor() as cursor:
        for number in range(6):
            cursor.execute(f"SET SESSION gtid_domain_id = {number % 3}")
            cursor.execute(f"INSERT INTO t VALUES ({number})")
            if number % 2:
                cursor.execute("FLUSH BINARY LOGS")
    ends = [end for end in followed.log.ends(followed.begin, 1, 100) if end.gtids != followed.begin.gtids]
    for seen, gtids in enumerate(dict.fromkeys(end.gtids for end in ends), start=1):
        end = next(end for end in ends if end.gtids == gtids)
        found = followed.log.resume(elsewhere(reached(followed, end)))
        assert numbers(followed, found, ends[-1]) == list(range(seen, 6)), gtids


def test_purged_files(followed: Followed, server: MariaDB) -> None:
    first = insert(followed, 1)
    server.execute(None, "FLUSH BINARY LOGS")
    second = insert(followed, 2)
    purge(server, second.file)
    for gone in (followed.begin, Position(f"{first.file}:{first.offset}#{first.log}")):
        with pytest.raises(UnreachableError):
            numbers(followed, gone)
        with pytest.raises(UnreachableError):
            followed.log.ends(gone, 1, 10)
        with pytest.raises(LogLostError, match="does not continue"):
            followed.log.resume(gone)
    # Nothing behind its GTIDs was purged.
    assert numbers(followed, followed.log.resume(first)) == [2]


def test_an_xa_transaction_whose_first_part_was_purged(followed: Followed, server: MariaDB) -> None:
    """It may have changed any table."""
    with followed.database.connect() as connection, connection.cursor() as cursor:
        for statement in ("XA START 'a'", "INSERT INTO t VALUES (1)", "XA END 'a'", "XA PREPARE 'a'"):
            cursor.execute(statement)
    server.execute(None, "FLUSH BINARY LOGS")
    after = followed.log.now()
    purge(server, after.file)
    followed.database.execute("XA COMMIT 'a'")
    with pytest.raises(LogLostError, match=r"XA transaction .* was prepared in a part of the log that is gone"):
        numbers(followed, after)


def test_a_log_that_was_begun_anew(followed: Followed, server: MariaDB) -> None:
    """Its files are called the same, and events end in the same places."""
    server.execute(None, "RESET MASTER")
    followed.start()
    insert(followed, *range(1, 9))
    before = reached(followed)
    while server.rows(None, "SELECT UNIX_TIMESTAMP()") == [(int(before.log.split(".")[1]),)]:
        pass  # the next file is to be begun in another second
    server.execute(None, "RESET MASTER")
    with pytest.raises(UnreachableError, match="ends at"):
        followed.log.ends(before, 1, 10)
    insert(followed, *range(11, 30))
    assert followed.log.now().place > before.place
    with pytest.raises(UnreachableError, match="is not in the server's log"):
        numbers(followed, before)
    with pytest.raises(UnreachableError, match="its file of this name is another file"):
        numbers(followed, before.of_log(before.log))
    with pytest.raises(LogLostError, match="another transaction with the same GTID"):
        followed.log.resume(before)
    with pytest.raises(LogLostError, match="different logs"):
        followed.log.now().reaches(before)


def test_the_last_event_tells_files_apart_that_were_begun_in_one_second(followed: Followed) -> None:
    insert(followed, 1, 2)
    before = reached(followed)
    assert followed.log.resume(before) == before
    begin, checksum = before.tail.split(".")
    other = before.of_log(before.log, tail=f"{begin}.{int(checksum, 16) ^ 1:08x}")
    insert(followed, 3)
    with pytest.raises(UnreachableError, match="another event lies before"):
        numbers(followed, other)


def test_a_log_that_ends_too_early(followed: Followed) -> None:
    now = insert(followed, 1)
    with pytest.raises(UnreachableError, match="ends before"):
        numbers(followed, followed.begin, Position(f"{now.file}:{now.offset + 1}#{now.log}"))


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
    found = source_problems(parse_url(followed.database.url), ServerKind.MARIADB, tables)
    assert [problem.message for problem in found] == ["the server does not log changes of unlogged"]
