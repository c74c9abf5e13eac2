"""What a user asks of a mover."""

from __future__ import annotations

from dataclasses import dataclass, field

from tieout.model.moving import DEFAULT_CONSISTENCY, DEFAULT_DELIVERY, Consistency, Delivery
from tieout.model.nearest import chosen
from tieout.model.requests import TableRequest, put, table_requests


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """How to move. `chunk_rows` None: COPY_CHUNK_ROWS.

    A mover waits while the target runs more than `max_load` statements, or a replica of it is further behind than
    `max_replica_lag` seconds.
    """

    chunk_rows: int | None = None
    batch_bytes: int = 128 << 20
    poll_seconds: float = 0.2
    max_rows_per_second: int | None = None
    max_load: int | None = None
    max_replica_lag: float | None = None


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """Two endpoint URLs (secrets included; never logged) and what to move. No tables: all.

    `redact_values`: what is told and kept of errors quotes no values of rows. A table may be given by its plain name,
    delivery and consistency by their texts, "exactly-once".
    """

    task: str
    source: str = field(repr=False)
    target: str = field(repr=False)
    tables: tuple[TableRequest, ...] = ()
    delivery: Delivery = DEFAULT_DELIVERY
    consistency: Consistency = DEFAULT_CONSISTENCY
    options: MoveOptions = MoveOptions()
    redact_values: bool = False

    def __post_init__(self) -> None:
        put(self, "tables", table_requests(self.tables))
        put(self, "delivery", chosen(Delivery, self.delivery, "delivery"))
        put(self, "consistency", chosen(Consistency, self.consistency, "consistency"))
