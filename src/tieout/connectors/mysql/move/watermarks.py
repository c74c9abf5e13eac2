"""Where a snapshot lies in the log of a server that does not tell: between two watermarks.

A transaction is in the binary log before it is visible, so the log's end says nothing of what a snapshot sees. But
commits become visible in the order of the log (binlog_order_commits): once a row of our own is committed, all is
visible that lay before it in the log. And what a snapshot sees was in the log when it was begun.
"""

from __future__ import annotations

from typing import Any

from tieout.connectors.mysql.binlog.server import end_of_log
from tieout.errors import UnsupportedError
from tieout.model.moves import Held

TABLE = "tieout_watermark"


def begin(connection: Any) -> Held:
    """Begins a snapshot: it sees all that lies before the lower watermark, and nothing behind the upper one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.binlog_order_commits" if _orders(cursor) else "SELECT 1")
        if not int(cursor.fetchone()[0]):
            raise UnsupportedError("binlog_order_commits is off: nobody knows what a snapshot sees", "turn it on")
        low = end_of_log(connection)
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE = InnoDB")
        cursor.execute(f"INSERT INTO {TABLE} VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + 1")
        connection.commit()
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        return Held(low, settled=end_of_log(connection))


def drop(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")


def _orders(cursor: Any) -> bool:
    """MariaDB always commits in the order of its log, and has no such variable."""
    cursor.execute("SHOW GLOBAL VARIABLES LIKE 'binlog\\_order\\_commits'")
    return bool(cursor.fetchall())
