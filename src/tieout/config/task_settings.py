"""A task: one source, one target, and how it is moved and verified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from tieout.config.fields import Count, EndpointReference, MayBeEmpty, PositiveSeconds, Seconds, Section
from tieout.config.table_settings import TableSettings
from tieout.model.defaults import COPY_CHUNK_ROWS, FIRST_CHUNK_ROWS
from tieout.model.moves import DEFAULT_CONSISTENCY, DEFAULT_DELIVERY
from tieout.model.requests import MoveOptions, VerifyOptions
from tieout.model.results import Strategy

_DEFAULTS = VerifyOptions()
_MOVE = MoveOptions()


def _known_bits(bits: int) -> int:
    if bits not in (64, 128):
        raise ValueError(f"should be 64 or 128, not {bits}")
    return bits


class OptionSettings(Section):
    """How a task's tables are verified."""

    strategy: Literal["auto", "native", "pushdown", "pull"] = "auto"
    """Where rows are hashed."""
    hash_bits: Annotated[int, AfterValidator(_known_bits)] = _DEFAULTS.hash_bits
    """64 or 128."""
    counts_only: bool = _DEFAULTS.counts_only
    """Compare numbers of rows and nothing else."""
    exact_scale: bool = _DEFAULTS.exact_scale
    """Whether 1.0 and 1.00 are different."""
    limit: Count | None = _DEFAULTS.limit
    """The most differences to list; null lists all."""
    chunk_seconds: PositiveSeconds = _DEFAULTS.chunk_seconds
    """How long reading a chunk should take."""
    chunk_rows: Count | None = Field(
        default=_DEFAULTS.chunk_rows,
        description="Rows in a chunk, instead of `chunk_seconds`."
        f" Without it the first chunks have {FIRST_CHUNK_ROWS:,}, and later ones what fits the time.",
    )
    max_rows_per_second: Count | None = _DEFAULTS.max_rows_per_second
    """How fast to read at most, each side."""
    recheck_after: Seconds = _DEFAULTS.recheck_after
    """How long to wait before a difference is looked at again."""
    recheck_times: Annotated[int, Field(ge=0)] = _DEFAULTS.recheck_times
    """How often a difference is looked at again."""

    def options(self) -> VerifyOptions:
        """The same, as a verification takes it."""
        return VerifyOptions(**(dict(self) | {"strategy": Strategy(self.strategy)}))


class MoveSettings(Section):
    """How a task's tables are moved."""

    chunk_rows: Count | None = Field(
        default=_MOVE.chunk_rows,
        description=f"Rows in a chunk that is copied, in one transaction; about {COPY_CHUNK_ROWS:,} unless given.",
    )
    batch_bytes: Count = _MOVE.batch_bytes
    """How much of the log is applied in one transaction, more or less: no transaction of the source is cut."""
    poll_seconds: PositiveSeconds = _MOVE.poll_seconds
    """How often to look for changes when there are none."""
    max_rows_per_second: Count | None = _MOVE.max_rows_per_second
    """No more rows a second than this, copied or changed."""
    max_load: Count | None = _MOVE.max_load
    """Wait while the target runs more statements than this; not of SQLite."""
    max_replica_lag: PositiveSeconds | None = _MOVE.max_replica_lag
    """Wait while a replica of the target is further behind than this; of PostgreSQL alone."""

    def options(self) -> MoveOptions:
        """The same, as a mover takes it."""
        return MoveOptions(**dict(self))


class TaskSettings(Section):
    """One source, one target, which tables, and how."""

    not_yet: ClassVar[Mapping[str, str]] = {
        "verify": "verification while a task runs",
        "validation": "continuous validation",
        "event_log": "a lake that keeps every change",
    }

    source: EndpointReference = Field(repr=False)
    """The endpoint to read: its name, or a URL."""
    target: EndpointReference = Field(repr=False)
    """The endpoint to write, and to compare with: its name, or a URL."""
    tables: tuple[TableSettings, ...] = ()
    """Which tables; all of them unless given."""
    delivery: Literal["at-least-once", "at-most-once", "exactly-once"] = DEFAULT_DELIVERY.value
    """How often a change may be applied."""
    consistency: Literal["row", "table", "transaction"] = DEFAULT_CONSISTENCY.value
    """What is never seen half done on the target."""
    move: Annotated[MoveSettings, MayBeEmpty] = MoveSettings()
    """How tables are moved."""
    options: Annotated[OptionSettings, MayBeEmpty] = OptionSettings()
    """How tables are verified."""

    @property
    def is_moved(self) -> bool:
        """Whether it has a section `move`, be it an empty one: `delivery` has whoever took over a template."""
        return "move" in self.model_fields_set
