"""PostgreSQL's logical decoding: the changes that pgoutput tells, and the slot that keeps them."""

from tieout.connectors.postgres.decoding.log import PostgresLog
from tieout.connectors.postgres.decoding.slot import SlotState

__all__ = ["PostgresLog", "SlotState"]
