"""A replica of a private MariaDB server: it applies the primary's binary log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.mariadb import MariaDB, start_mariadb


@contextmanager
def replica_of(primary: MariaDB, server_id: int = 99) -> Iterator[MariaDB]:
    """It begins at the end of the primary's log, and follows it until the block ends."""
    replica = start_mariadb(time_zone="+00:00", server_id=server_id)
    try:
        ((gtids,),) = primary.rows(None, "SELECT @@GLOBAL.gtid_binlog_pos")
        replica.execute(None, "SET GLOBAL gtid_slave_pos = %s", gtids)
        replica.execute(
            None,
            "CHANGE MASTER TO MASTER_HOST = %s, MASTER_PORT = %s, MASTER_USER = %s, MASTER_PASSWORD = %s, "
            "MASTER_USE_GTID = slave_pos",
            primary.host,
            primary.port,
            primary.user,
            primary.password,
        )
        replica.execute(None, "START SLAVE")
        yield replica
    finally:
        replica.stop()
