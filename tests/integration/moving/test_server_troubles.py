"""Servers that restart, lose their log or have no room: a mover waits and goes on, or stops and says what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.moving import troubles
from tests.integration.moving.pairs import Moving
from tests.integration.moving.pieces import pieces
from tests.servers.server import PASSWORD
from tests.variants import later
from tieout.config.urls import parse_url
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.sql.session import Purpose
from tieout.errors import FullError, LogLostError
from tieout.model.moves import Delivery
from tieout.model.requests import MoveRequest
from tieout.move.snapshot import CopyChunk
from tieout.spark.executor_work import run_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.mariadb import MariaDB
    from tests.servers.postgres import Postgres
    from tests.servers.server import Database, Server

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(500))"


def fill(database: Database, rows: range, length: int = 20) -> None:
    database.executemany("INSERT INTO t VALUES (%s, %s)", [(n, "x" * length) for n in rows])


# ------------------------------------------------------------------------------------------------- the log is lost


@pytest.mark.parametrize(
    ("moving", "lose", "words"),
    [
        ("mariadb-postgres", troubles.forget_binlog, "the log does not continue"),
        ("postgres-mariadb", troubles.drop_slot, "does not exist"),
        ("postgres-mariadb", troubles.outgrow_slot, "was removed"),
    ],
    indirect=["moving"],
    ids=["purged", "slot dropped", "slot invalidated"],
)
def test_a_log_that_is_lost(moving: Moving, lose: Callable[[Database], None], words: str) -> None:
    moving.source.execute(TABLE)
    fill(moving.source, range(10))
    asked = moving.asking("t")
    asked.run()
    fill(moving.source, range(10, 20))
    lose(moving.source)
    fill(moving.source, range(20, 30))
    with pytest.raises(LogLostError) as error:
        asked.run()
    assert words in error.value.message
    assert "drop the task, empty its tables and " in (error.value.hint or "")
    assert "Traceback" not in str(error.value)
    assert PASSWORD not in str(error.value)

    moving.drop()
    moving.target.execute("TRUNCATE TABLE t")
    asked.run()
    assert troubles.arrived(moving, "t")


# ------------------------------------------------------------------------------------------------ a read-only source


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
def test_a_source_that_takes_no_changes(moving: Moving) -> None:
    """MariaDB keeps its log by itself: a user with these three rights leaves nothing there."""
    source = moving.source
    source.execute(TABLE)
    fill(source, range(10))
    source.execute(f"CREATE USER reader IDENTIFIED BY '{PASSWORD}'")
    source.execute("GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO reader")
    source.execute(f"GRANT SELECT ON {source.name}.* TO reader")
    source.execute("SET GLOBAL read_only = 1")
    try:
        url = parse_url(source.url).reveal().replace("//tieout:", "//reader:")
        asked = moving.asking("t")
        asked = replace(asked, request=replace(asked.request, source=url))
        asked.run()
        source.execute("UPDATE t SET a = 'changed' WHERE id = 3")  # by one who may
        asked.run()
    finally:
        source.execute("SET GLOBAL read_only = 0")
        source.execute("DROP USER reader")
    assert troubles.arrived(moving, "t")


# ---------------------------------------------------------------------------------------------------- a full target


@pytest.fixture
def small(postgres: Postgres, mysql_db: Database, spark: SparkSession, tmp_path: Path) -> Iterator[tuple[Moving, Path]]:
    """The target's tables are on a disk of ten megabytes."""
    with troubles.small_disk(postgres.process, 10) as disk:
        postgres.execute(None, f"CREATE TABLESPACE small LOCATION '{disk}'")
        try:
            with postgres.fresh_database() as target:
                target.execute(f"ALTER DATABASE {target.name} SET default_tablespace = small")
                yield Moving(mysql_db, target, spark, tmp_path, MoveRequest("small", mysql_db.url, target.url)), disk
        finally:
            postgres.execute(None, "DROP TABLESPACE small")


def test_a_target_that_is_full(small: tuple[Moving, Path]) -> None:
    """While it is copied, and while it is followed: no table is given up, and what is there is whole."""
    moving, disk = small
    moving.source.execute(TABLE)
    fill(moving.source, range(25_000), 490)
    asked = moving.asking("t")
    for megabytes in (50, 200):
        with pytest.raises(FullError) as error:
            asked.run()
        assert "No space left on device" in error.value.message
        assert "make room" in (error.value.hint or "")
        troubles.make_room(disk, megabytes)
        assert asked.run()["tables"][0]["stopped"] is None
        assert troubles.arrived(moving, "t")
        if megabytes == 50:
            fill(moving.source, range(25_000, 75_000), 490)


def test_a_mariadb_that_is_full(mysql_db: Database) -> None:
    """In its own words, which say nothing of a disk."""
    mysql_db.execute("SET SESSION max_heap_table_size = 16384; CREATE TABLE heap (a CHAR(200)) ENGINE = MEMORY")
    rows = "INSERT INTO heap SELECT 'a' FROM seq_1_to_1000"
    with (
        closing(MySQLSession(parse_url(mysql_db.url), Purpose.MOVE)) as session,
        pytest.raises(FullError, match=r"heap.*is full"),
    ):
        session.execute(rows)


# ------------------------------------------------------------------------------------- connections, and whole servers


@pytest.fixture(params=[later("mariadb"), "postgres"])
def own_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    from tests.servers.mariadb import start_mariadb
    from tests.servers.postgres import start_postgres

    server: MariaDB | Postgres
    if request.param == "mariadb":
        server = start_mariadb(time_zone="+00:00", server_id=11, settings={"innodb-log-file-size": "8M"})
    else:
        server = start_postgres()
    yield server
    server.stop()


def test_connections_that_are_lost_and_a_server_that_restarts(
    own_server: Server, spark: SparkSession, tmp_path: Path
) -> None:
    """Both sides are on it. A mover that follows waits until it is back."""
    with own_server.fresh_database() as source, own_server.fresh_database() as target:
        request = MoveRequest("restarted", source.url, target.url)
        moving = Moving(source, target, spark, tmp_path, request).asking("t", poll_seconds=0.05)
        source.execute(TABLE)
        fill(source, range(100))
        with troubles.followed(moving) as states:
            fill(source, range(100, 200))
            for database in (source, target):
                troubles.throw_out(database)
            _goes_on(moving, range(200, 300))
            assert "waiting" in states
            states.clear()
            # Nothing is on its way: who looks for changes is the first to see that nobody answers.
            troubles.restart(own_server)
            _goes_on(moving, range(300, 400))
            assert "waiting" in states
        assert len(target.rows("SELECT id FROM t")) == 400
        moving.drop()


def _goes_on(moving: Moving, rows: range) -> None:
    moving.source.execute(f"UPDATE t SET a = 'after {rows.start}' WHERE id < 50")
    fill(moving.source, rows)
    troubles.until(lambda: troubles.arrived(moving, "t"))


@pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
def test_connections_that_are_lost_while_rows_are_copied(moving: Moving) -> None:
    """Those of the driver, too, which it needs again when all is copied."""
    moving.source.execute(TABLE)
    fill(moving.source, range(100))
    states: list[str] = []

    def cut(status: dict[str, Any]) -> None:
        if not states:
            troubles.throw_out(moving.source)
            troubles.throw_out(moving.target)
            fill(moving.source, range(100, 110))
        states.append(status["state"])

    status = moving.asking("t", chunk_rows=5).run(cut)
    assert "waiting" in states
    assert status["tables"][0]["chunks_done"] == status["tables"][0]["chunks"] >= 20
    assert troubles.arrived(moving, "t")


# ------------------------------------------------------------------------------------------- a table that is rebuilt


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
def test_a_table_that_is_rebuilt_while_a_chunk_is_read(moving: Moving) -> None:
    """MariaDB can't read it any more in a view that is older (error 1412): the chunk is begun anew."""
    moving.source.execute(TABLE)
    fill(moving.source, range(100))
    with pieces(moving.asking("t")) as one, moving.source.connect() as other, other.cursor() as cursor:
        (chunk,) = one.target.chunks.of(one.fence.task, [one.transfer.source.name])
        reader, loader = one.source.chunk_source(), one.target.loader()
        work = CopyChunk(reader, loader, one.fence, one.transfer, chunk, one.same_engine)
        outcomes = []
        cursor.execute("LOCK TABLES t WRITE")
        copying = Thread(target=lambda: outcomes.extend(run_work(moving.spark, [[work]])[0]))
        copying.start()
        waiting = "SELECT 1 FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata lock%%'"
        troubles.until(lambda: moving.source.rows(waiting))  # its view is begun
        cursor.execute("ALTER TABLE t ADD COLUMN late INT DEFAULT 7, ALGORITHM = COPY")
        cursor.execute("UNLOCK TABLES")
        copying.join()
        assert outcomes[0].only().rows == 100
    assert len(moving.target.rows("SELECT id FROM t")) == 100


# --------------------------------------------------------------------------------------- a target that takes no files


@pytest.mark.parametrize("moving", [later("mariadb-mariadb"), "postgres-mariadb"], indirect=True)
def test_every_type_without_files_is_as_with_them(moving: Moving) -> None:
    from tests.integration.moving.moved import wide_tables
    from tieout.connectors.mysql.move.loader import load
    from tieout.model.keys import EVERYTHING

    made = wide_tables(moving)[0]
    with made.source.side.open():
        made.source.side.set_up()
        if made.source.side.engine == "postgres":
            made.source.side.run("CREATE DOMAIN positive AS integer CHECK (VALUE > 0)")
            made.source.side.run("CREATE DOMAIN ip_domain AS inet")
        made.source.create()
        made.source.fill()
    with pieces(moving.asking("made")) as one:

        def loaded() -> list[Any]:
            moving.target.execute("TRUNCATE TABLE made")
            with (
                closing(MySQLSession(parse_url(moving.target.url), Purpose.MOVE)) as session,
                one.source.chunk_source().reading() as r,
            ):
                lines = r.lines(one.transfer, EVERYTHING, same_engine=one.same_engine)
                load(session, one.transfer.target.name, one.transfer, (), lines)
            # The sum is of the bytes as they are kept: a driver shows a FLOAT with six digits.
            return [
                *moving.target.rows("CHECKSUM TABLE made EXTENDED"),
                *moving.target.rows("SELECT * FROM made ORDER BY id"),
            ]

        with_files = loaded()
        assert len(with_files) > 20
        with troubles.without_files(moving.target), moving.target.recording() as seen:
            assert loaded() == with_files
            assert one.stage() is None
        assert not [statement for statement in seen if statement.text.startswith("LOAD DATA")]


@pytest.mark.parametrize("moving", ["mariadb-mariadb"], indirect=True)
def test_a_move_without_files(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT)")
    odd = "a\tb\\c\nd\re'\"\0\x1a\b\\N"
    moving.source.executemany(
        "INSERT INTO t VALUES (%s, %s)", [(1, odd), (2, None), (3, ""), (4, "\\N"), (5, "y" * 3_000_000)]
    )
    asked = moving.asking("t", delivery=Delivery.AT_LEAST_ONCE)
    with troubles.without_files(moving.target):
        asked.run()
        moving.source.execute("UPDATE t SET a = CONCAT(a, '''', CHAR(92)) WHERE id <> 3")
        asked.run()
    assert troubles.arrived(moving, "t")
