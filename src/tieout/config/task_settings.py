"""The `tasks` of tieout.yaml: which tables, and how they are moved and verified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from tieout.config.field_types import (
    Count,
    EndpointReference,
    MayBeEmpty,
    Names,
    PositiveSeconds,
    Seconds,
    Section,
    Text,
    Tolerance,
)
from tieout.model.defaults import COPY_CHUNK_ROWS, FIRST_CHUNK_ROWS
from tieout.model.requests import MoveOptions, TableRequest, VerifyOptions
from tieout.model.results import Strategy


class ColumnExpression(Section):
    """The Spark SQL that computes a column. Plain text is the source's."""

    source: Text
    """Spark SQL over the source's columns."""
    target: Text | None = None
    """Spark SQL over the target's columns (default: the column itself); not in a task that is moved."""

    @model_validator(mode="before")
    @classmethod
    def _text_is_the_source(cls, value: Any) -> Any:
        return {"source": value} if isinstance(value, str) else value


def _columns_kind(value: Any) -> str:
    return "mapping" if isinstance(value, dict) else "list"


Columns = Annotated[
    Annotated[Names, Tag("list")] | Annotated[dict[Text, ColumnExpression], Tag("mapping")],
    Discriminator(_columns_kind),
]


class TableSettings(Section):
    """One entry of `tables`. Plain text is its `from`."""

    source: Text = Field(alias="from")
    """A table of the source, or a pattern with * and ?."""
    target: Text | None = Field(default=None, alias="to")
    """The table of the target (default: the same name)."""
    where: Text | None = None
    """Spark SQL that chooses rows: of the source, and, in a task that is not moved, of the target."""
    source_where: Text | None = None
    """Spark SQL that chooses rows of the source, instead of `where`."""
    target_where: Text | None = None
    """Spark SQL that chooses rows of the target, to compare only those."""
    columns: Columns | None = None
    """A list: only these columns. A mapping: Spark SQL that computes a column, for the source or for each side."""
    exclude_columns: Names = ()
    """Columns to leave out."""
    exclude: Names = ()
    """Tables that the pattern should not match."""
    key: Names | None = None
    """The columns that identify a row (default: the primary key). A task that is moved has none."""
    tolerance: Annotated[dict[Text, Tolerance], MayBeEmpty] = Field(default={})
    """How far apart values may be, by column: 0.001, or "1e-9 relative"."""

    @model_validator(mode="before")
    @classmethod
    def _text_is_the_name(cls, value: Any) -> Any:
        return {"from": value} if isinstance(value, str) else value

    def request(self) -> TableRequest:
        """The request for these tables. "" as SQL for the target means its column of that name."""
        listed = self.columns if isinstance(self.columns, tuple) else None
        computed = self.columns if isinstance(self.columns, dict) else {}
        return TableRequest(
            source=self.source,
            target=self.target,
            where=self.where,
            source_where=self.source_where,
            target_where=self.target_where,
            key=self.key,
            columns=listed,
            exclude_columns=self.exclude_columns,
            exclude=self.exclude,
            tolerance=self.tolerance,
            expressions={name: (sql.source, sql.target or "") for name, sql in computed.items()},
        )


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
    """Compare only the numbers of rows."""
    exact_scale: bool = _DEFAULTS.exact_scale
    """Whether 1.0 and 1.00 are different."""
    limit: Count | None = _DEFAULTS.limit
    """List at most this many differences; null lists all."""
    chunk_seconds: PositiveSeconds = _DEFAULTS.chunk_seconds
    """How long reading a chunk should take."""
    chunk_rows: Count | None = Field(
        default=_DEFAULTS.chunk_rows,
        description="Rows in a chunk, instead of `chunk_seconds`."
        f" Without it the first chunks have {FIRST_CHUNK_ROWS:,}, and later ones what fits the time.",
    )
    max_rows_per_second: Count | None = _DEFAULTS.max_rows_per_second
    """Read at most this many rows per second, each side."""
    recheck_after: Seconds = _DEFAULTS.recheck_after
    """How long to wait before rechecking a difference."""
    recheck_times: Annotated[int, Field(ge=0)] = _DEFAULTS.recheck_times
    """How many times to recheck a difference."""

    def options(self) -> VerifyOptions:
        """The options of a verification."""
        return VerifyOptions(**(dict(self) | {"strategy": Strategy(self.strategy)}))


class MoveSettings(Section):
    """How a task's tables are moved."""

    chunk_rows: Count | None = Field(
        default=_MOVE.chunk_rows,
        description=f"Rows in a chunk that is copied, in one transaction (default: about {COPY_CHUNK_ROWS:,}).",
    )
    batch_bytes: Count = _MOVE.batch_bytes
    """About how much of the log to apply in one transaction; a transaction of the source is never split."""
    poll_seconds: PositiveSeconds = _MOVE.poll_seconds
    """How long to wait for new changes when there are none."""
    merge_connections: Count = _MOVE.merge_connections
    """On how many connections to merge changes side by side; with `consistency: transaction` it is always one."""
    max_rows_per_second: Count | None = _MOVE.max_rows_per_second
    """Copy or change at most this many rows per second."""
    max_load: Count | None = _MOVE.max_load
    """Wait while the target runs more statements than this; not for SQLite."""
    max_replica_lag: PositiveSeconds | None = _MOVE.max_replica_lag
    """Wait while a replica of the target is further behind than this; for PostgreSQL only."""

    def options(self) -> MoveOptions:
        """The options of a mover."""
        return MoveOptions(**dict(self))


_OF_A_MOVE = ("move", "delivery", "consistency", "target_level")
"""The keys that say how tables are moved."""


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
    """Which tables (default: all)."""
    delivery: Literal["at-least-once", "at-most-once", "exactly-once"] | None = None
    """How often a change may be applied (default: the strongest that the target can give)."""
    consistency: Literal["row", "table", "transaction"] | None = None
    """What the target never shows half done (default: the strongest that source and target can give)."""
    target_level: Literal["primitive", "unique-key", "logical-clock", "transaction"] | None = None
    """Rely on no more than this of the target (default: what it is found to be)."""
    move: Annotated[MoveSettings, MayBeEmpty] = MoveSettings()
    """How tables are moved."""
    options: Annotated[OptionSettings, MayBeEmpty] = OptionSettings()
    """How tables are verified."""

    @property
    def is_moved(self) -> bool:
        """Whether `tieout run` moves it: it says something about the move, if only `move: {}`."""
        return not self.model_fields_set.isdisjoint(_OF_A_MOVE)

    @model_validator(mode="after")
    def _moved_from_the_source_alone(self) -> TaskSettings:
        said = [key for key in _OF_A_MOVE if key in self.model_fields_set]
        for table in self.tables if said else ():
            computed = table.columns if isinstance(table.columns, dict) else {}
            name = next((name for name, sql in computed.items() if sql.target is not None), None)
            if name is not None:
                keys = " and ".join(f"`{key}`" for key in said)
                raise ValueError(
                    f"{keys} {'say' if len(said) > 1 else 'says'} that the task is moved, and a move computes columns"
                    f" from the source alone: leave out {keys}, or `target` of the column {name} of {table.source}"
                )
        return self
