"""PostgreSQL's logical decoding: the changes that pgoutput sends, and the slot that retains them."""

from tieout.connectors.postgres.wal.log import PostgresLog
from tieout.connectors.postgres.wal.slot import SlotState

__all__ = ["PostgresLog", "SlotState"]
