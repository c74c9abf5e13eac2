"""What happens to servers: they restart, throw connections out, run out of disk, forget their log."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pymysql
import pytest

from tests.integration.moving.pairs import Moving
from tieout import api
from tieout.errors import UsageError
from tieout.meta import Wanted

if TYPE_CHECKING:
    from tests.servers.process import ServerProcess
    from tests.servers.server import Database, Server


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came so far"
        time.sleep(0.05)


@contextmanager
def followed(moving: Moving) -> Iterator[list[str]]:
    """The task runs in the background until the block ends, and then stops in order. Gives the states that it told."""
    states: list[str] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            api.run_move(
                moving.request, spark=moving.spark, meta=moving.meta, listener=lambda s: states.append(s.state)
            )
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        until(lambda: errors or _state(moving) == "following")
        yield states
    except AssertionError as late:
        if errors:  # what it waited for could not come
            raise errors[0] from late
        raise
    finally:
        if thread.is_alive():
            with suppress(UsageError):  # it has just ended by itself
                api.control_move(moving.request.task, Wanted.STOP, moving.meta)
        thread.join()
    if errors:
        raise errors[0]


def arrived(moving: Moving, table: str) -> bool:
    source, target = moving.rows(table)
    return source == target


def throw_out(database: Database) -> None:
    """Ends all connections to a database but this one."""
    if database.server.scheme == "postgresql":
        own = "datname = current_database() AND pid <> pg_backend_pid()"
        database.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {own}")
        return
    others = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
    for (thread,) in database.rows(others):
        with suppress(pymysql.err.OperationalError):  # it has gone by itself
            database.execute(f"KILL {thread}")


def restart(server: Server) -> None:
    """In order, with the settings that it had, over the data that it has."""
    process: Any = server.process._process
    command = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")[:-1]
    process.send_signal(server.process._stop_signal)
    process.wait(timeout=30)
    server.process.start(*(word for word in command if not word.startswith("--init-file")))
    server.process.wait_until(lambda: server.execute(None, "SELECT 1"))


@contextmanager
def small_disk(process: ServerProcess, megabytes: int) -> Iterator[Path]:
    """A real file system of the server's own."""
    mounted = process.make("small")
    owner = f"uid={process.account.pw_uid},gid={process.account.pw_gid}," if process.account else ""
    mount = ["mount", "-t", "tmpfs", "-o", f"{owner}mode=700,size={megabytes}m", "tmpfs", str(mounted)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount a small disk (root may)")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "--lazy", str(mounted)], check=True)


def make_room(mounted: Path, megabytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(mounted)], check=True)


@contextmanager
def without_files(database: Database) -> Iterator[None]:
    """The server takes no LOAD DATA LOCAL."""
    database.execute("SET GLOBAL local_infile = 0")
    try:
        yield
    finally:
        database.execute("SET GLOBAL local_infile = 1")


def forget_binlog(database: Database) -> None:
    """Only the newest file is left. The server keeps others until what is in them has reached the tables."""
    database.execute("FLUSH BINARY LOGS")
    newest = database.rows("SHOW BINARY LOGS")[-1][0]

    def is_gone() -> bool:
        database.execute(f"PURGE BINARY LOGS TO '{newest}'")
        return bool(database.rows("SHOW BINARY LOGS")[0][0] == newest)

    until(is_gone)


def drop_slot(database: Database) -> None:
    database.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()"
    )


def outgrow_slot(database: Database) -> None:
    """More is written than the server keeps for a slot."""
    database.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    database.execute("SELECT pg_reload_conf()")
    try:
        lost = "SELECT 1 FROM pg_replication_slots WHERE database = current_database() AND wal_status = 'lost'"

        def is_lost() -> bool:
            database.execute("SELECT pg_logical_emit_message(false, 'a', 'b'); SELECT pg_switch_wal(); CHECKPOINT")
            return bool(database.rows(lost))

        until(is_lost)
    finally:
        database.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
        database.execute("SELECT pg_reload_conf()")


def _state(moving: Moving) -> str | None:
    status = api.move_status(moving.request.task, moving.meta)
    return None if status is None else status.state
