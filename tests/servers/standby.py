"""A standby of a private PostgreSQL cluster: a copy of it that replays what the primary sends."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.postgres import INSTALLED, SETTINGS, Postgres
from tests.servers.process import ServerProcess, free_port, program


@contextmanager
def standby_of(primary: Postgres) -> Iterator[Postgres]:
    """It streams from the primary until the block ends."""
    process = ServerProcess("standby", accounts=("postgres", "nobody"), stop_signal=signal.SIGINT)
    try:
        programs = program("postgres", INSTALLED).resolve().parent
        data = process.make("data")
        process.write(".pgpass", f"*:*:*:*:{primary.password.replace(':', chr(92) + ':')}")
        source = f"host={primary.host} port={primary.port} user={primary.user} passfile={process.directory / '.pgpass'}"
        # --write-recovery-conf makes it a standby that connects as this program did.
        process.run(
            programs / "pg_basebackup",
            f"--pgdata={data}",
            f"--dbname={source}",
            "--write-recovery-conf",
            "--wal-method=stream",
            "--checkpoint=fast",
            "--no-sync",
        )
        standby = Postgres(process, port=free_port())
        options = [f"--{name}={value}" for name, value in SETTINGS.items()]
        process.start(programs / "postgres", "-D", data, f"--port={standby.port}", *options)
        process.wait_until(lambda: standby.execute(None, "SELECT 1"))
        yield standby
    finally:
        process.stop()
