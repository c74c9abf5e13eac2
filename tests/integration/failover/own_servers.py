"""Servers of a test's own, which fail over, are put back to earlier copies, and get replicas."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers.mariadb import MariaDB, start_mariadb
from tests.servers.postgres import INSTALLED, Postgres, start_postgres
from tests.servers.process import ServerProcess, free_port, program
from tests.servers.server import PASSWORD, USER, Server

SMALL = {"innodb-log-file-size": "8M", "innodb-buffer-pool-size": "16M"}


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came so far"
        time.sleep(0.02)


@contextmanager
def mariadb(server_id: int = 1, **settings: str) -> Iterator[MariaDB]:
    chosen = {**SMALL, **{name.replace("_", "-"): value for name, value in settings.items()}}
    server = start_mariadb(time_zone="+00:00", server_id=server_id, settings=chosen)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def postgres(**settings: str) -> Iterator[Postgres]:
    server = start_postgres(settings)
    try:
        yield server
    finally:
        server.stop()


def stop(server: Server, how: signal.Signals | None = None) -> list[str]:
    """In order, unless a signal says otherwise; the command that starts it again."""
    process: Any = server.process._process
    command = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")[:-1]
    process.send_signal(how or server.process._stop_signal)
    process.wait(timeout=60)
    return [word for word in command if not word.startswith("--init-file")]


def start(server: Server, command: list[str]) -> None:
    server.process.start(*command)
    server.process.wait_until(lambda: server.execute(None, "SELECT 1"))


def restart(server: Server, how: signal.Signals | None = None, *more: str) -> None:
    start(server, [*stop(server, how), *more])


def copy(server: Server) -> Path:
    """A copy of all that the server has; it runs again afterwards."""
    command = stop(server)
    kept = server.process.directory / f"copy-{time.monotonic_ns()}"
    _copy(server.process.directory / "data", kept)
    start(server, command)
    return kept


def put_back(server: Server, kept: Path) -> None:
    """The server goes on from the copy, as if nothing had happened since."""
    command = stop(server)
    data = server.process.directory / "data"
    shutil.rmtree(data)
    _copy(kept, data)
    start(server, command)


def _copy(of: Path, to: Path) -> None:
    subprocess.run(["cp", "-a", of, to], check=True)


@contextmanager
def mariadb_replica(primary: MariaDB, server_id: int = 22) -> Iterator[MariaDB]:
    """It has all that the primary has, by GTIDs, and writes a log of its own."""
    with mariadb(server_id, log_slave_updates="ON") as replica:
        replicate(primary, replica)
        yield replica


def replicate(primary: MariaDB, replica: MariaDB) -> None:
    primary_is = f"master_host='{primary.host}', master_port={primary.port}, master_user='{USER}'"
    replica.execute(
        None, f"CHANGE MASTER TO {primary_is}, master_password='{PASSWORD}', master_use_gtid=slave_pos; START SLAVE"
    )


def wait_for_replica(primary: MariaDB, replica: MariaDB) -> None:
    ((wanted,),) = primary.rows(None, "SELECT @@GLOBAL.gtid_binlog_pos")
    until(lambda: replica.rows(None, "SELECT @@GLOBAL.gtid_slave_pos") == [(wanted,)])


def promote_mariadb(replica: MariaDB) -> None:
    replica.execute(None, "STOP SLAVE; RESET SLAVE ALL")


@contextmanager
def postgres_standby(primary: Postgres) -> Iterator[Postgres]:
    """A physical standby, which has replayed all that the primary had written when it began."""
    process = ServerProcess("postgres", accounts=("postgres", "nobody"), stop_signal=signal.SIGINT)
    programs = program("postgres", INSTALLED).resolve().parent
    source = f"host={primary.host} port={primary.port} user={USER} password={PASSWORD} dbname=postgres"
    try:
        data = process.directory / "data"
        process.run(programs / "pg_basebackup", "--pgdata", data, "--dbname", source, "-R", "--checkpoint=fast")
        standby = Postgres(process, port=free_port())
        command: Any = Path(f"/proc/{primary.process.pid}/cmdline").read_text().split("\0")[:-1]
        options = [word for word in command if word.startswith("--") and not word.startswith("--port")]
        process.start(programs / "postgres", "-D", data, f"--port={standby.port}", *options)
        process.wait_until(lambda: standby.execute(None, "SELECT 1"))
        yield standby
    finally:
        process.stop()


def wait_for_standby(primary: Postgres, standby: Postgres) -> None:
    ((end,),) = primary.rows(None, "SELECT pg_current_wal_insert_lsn()::text")
    primary.execute(None, "SELECT pg_switch_wal()")  # all before it is sent, whatever was flushed
    until(lambda: standby.rows(None, f"SELECT pg_last_wal_replay_lsn() >= '{end}'::pg_lsn") == [(True,)])


def promote_postgres(standby: Postgres) -> None:
    standby.execute(None, "SELECT pg_promote()")
