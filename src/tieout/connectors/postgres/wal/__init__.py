"""PostgreSQL's logical decoding: the changes that pgoutput tells, and the slot that keeps them."""

from tieout.connectors.postgres.wal.log import PostgresLog
from tieout.connectors.postgres.wal.slot import SlotState

__all__ = ["PostgresLog", "SlotState"]
