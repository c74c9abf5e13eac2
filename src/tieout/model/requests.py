"""What a user asks for: a verification, or a move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tieout.model.defaults import LISTED_DIFFERENCES, RECHECK_AFTER, RECHECK_TIMES
from tieout.model.levels import TargetLevel
from tieout.model.moves import Consistency, Delivery
from tieout.model.nearest import chosen
from tieout.model.results import Strategy

_STRATEGIES = tuple(strategy for strategy in Strategy if strategy is not Strategy.COUNTS)
"""The strategies that a user can choose: `counts_only` selects COUNTS."""


@dataclass(frozen=True, slots=True)
class TableRequest:
    """One entry of "which tables": a name or a pattern on the source, and what to do with it.

    `source` may hold `*` and `?`; `target` None means the table of the same name. Names are `table` or `schema.table`.
    `where` is SQL for both sides unless a side has its own; the request says whose SQL (Meaning). `columns` None means
    all. `tolerance` maps a column to an absolute ("0.001") or relative ("1e-9 relative") one. `expressions` maps a
    column to SQL for the source and for the target ("": the column itself). Names may be a list, a tuple or a single
    name; a tolerance may be a number.
    """

    source: str
    target: str | None = None
    where: str | None = None
    source_where: str | None = None
    target_where: str | None = None
    key: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    exclude_columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tolerance: Mapping[str, str] = field(default_factory=dict)
    expressions: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("key", "columns", "exclude_columns", "exclude"):
            given = getattr(self, name)
            if given is not None:
                put(self, name, (given,) if isinstance(given, str) else tuple(given))
        put(self, "tolerance", {column: str(amount) for column, amount in self.tolerance.items()})


def put(frozen: object, name: str, value: Any) -> None:
    """Sets a field of a frozen dataclass to its normalized value, during construction."""
    object.__setattr__(frozen, name, value)


def table_requests(tables: str | TableRequest | Iterable[str | TableRequest]) -> tuple[TableRequest, ...]:
    """Tables as a person writes them: one or many, by plain names or as requests."""
    given = (tables,) if isinstance(tables, str | TableRequest) else tables
    return tuple(TableRequest(table) if isinstance(table, str) else table for table in given)


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How to verify. `limit` None lists (and keeps, for repair) every difference.

    `chunk_rows` None: FIRST_CHUNK_ROWS at first, then as many as are read in `chunk_seconds`.
    `redact_values`: list and store keys and hashes of values instead of values. A strategy may be its text, "pull".
    """

    strategy: Strategy = Strategy.AUTO
    hash_bits: int = 64
    counts_only: bool = False
    exact_scale: bool = False
    limit: int | None = LISTED_DIFFERENCES
    chunk_seconds: float = 1.0
    chunk_rows: int | None = None
    max_rows_per_second: int | None = None
    recheck_after: float = RECHECK_AFTER
    recheck_times: int = RECHECK_TIMES
    redact_values: bool = False

    def __post_init__(self) -> None:
        put(self, "strategy", chosen(_STRATEGIES, self.strategy, "strategy"))


class Meaning(StrEnum):
    """What conditions and expressions of a verification's tables mean."""

    ENGINE = "engine"
    """SQL of each side's own engine."""
    SPARK = "spark"
    """Spark SQL, on both sides: a task that is not moved."""
    MOVED = "moved"
    """What a mover makes of the source, with Spark SQL: the target should hold just that, and nothing else."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What was typed beside a task: only some of its tables, rows and columns.

    The conditions and expressions are SQL of each side's own engine; a row counts if the task's condition holds, too.
    """

    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    source_where: str | None = None
    target_where: str | None = None
    key: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    exclude_columns: tuple[str, ...] = ()
    tolerance: Mapping[str, str] = field(default_factory=dict)
    expressions: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """Two endpoint URLs (secrets included; never logged) and what to compare. No tables: all.

    A table may be given by its plain name. `meaning` and `narrowing` are for tasks.
    """

    source: str = field(repr=False)
    target: str = field(repr=False)
    tables: tuple[TableRequest, ...] = ()
    options: VerifyOptions = VerifyOptions()
    task: str | None = None
    meaning: Meaning = Meaning.ENGINE
    narrowing: Narrowing = Narrowing()

    def __post_init__(self) -> None:
        put(self, "tables", table_requests(self.tables))


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """How to move. `chunk_rows` None: COPY_CHUNK_ROWS. `merge_connections`: on how many connections lanes are merged.

    A mover waits while the target runs more than `max_load` statements, or a replica of it is further behind than
    `max_replica_lag` seconds.
    """

    chunk_rows: int | None = None
    batch_bytes: int = 128 << 20
    poll_seconds: float = 0.2
    merge_connections: int = 4
    max_rows_per_second: int | None = None
    max_load: int | None = None
    max_replica_lag: float | None = None


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """Two endpoint URLs (secrets included; never logged) and what to move. No tables: all.

    `delivery`, `consistency` None: the strongest that source and target can give. `target_level` None: as the target is
    found to be. `redact_values`: messages and stored errors quote no values of rows. A table may be its plain name,
    delivery, consistency and level may be their texts, "exactly-once".
    """

    task: str
    source: str = field(repr=False)
    target: str = field(repr=False)
    tables: tuple[TableRequest, ...] = ()
    delivery: Delivery | None = None
    consistency: Consistency | None = None
    options: MoveOptions = MoveOptions()
    redact_values: bool = False
    target_level: TargetLevel | None = None

    def __post_init__(self) -> None:
        put(self, "tables", table_requests(self.tables))
        if self.delivery is not None:
            put(self, "delivery", chosen(Delivery, self.delivery, "delivery"))
        if self.consistency is not None:
            put(self, "consistency", chosen(Consistency, self.consistency, "consistency"))
        if self.target_level is not None:
            put(self, "target_level", chosen(TargetLevel, self.target_level, "target level"))
