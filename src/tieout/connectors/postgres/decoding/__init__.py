"""PostgreSQL's logical decoding: the changes that pgoutput tells, and the slot that keeps them."""

from tieout.connectors.postgres.decoding.identity import IdentityKind, ReplicaIdentity, identity
from tieout.connectors.postgres.decoding.log import PostgresLog
from tieout.connectors.postgres.decoding.slot import SlotState

__all__ = ["IdentityKind", "PostgresLog", "ReplicaIdentity", "SlotState", "identity"]
