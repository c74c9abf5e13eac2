"""What a user asks of a verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tieout.model.defaults import LISTED_DIFFERENCES, RECHECK_AFTER, RECHECK_TIMES
from tieout.model.results import Strategy


@dataclass(frozen=True, slots=True)
class TableRequest:
    """One entry of "which tables": a name or a pattern on the source, and what to do with it.

    `source` may hold `*` and `?`; `target` None means the table of the same name. Names are
    `table` or `schema.table`. `where` is SQL for both sides unless a side has its own. `columns` None means
    all. `tolerance` maps a column to an absolute ("0.001") or relative ("1e-9 relative") one.
    `expressions` maps a column to SQL for the source and for the target ("": the column itself).
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


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How to verify. `limit` None lists (and keeps, for repair) every difference.

    `chunk_rows` None: FIRST_CHUNK_ROWS at first, then as many as are read in `chunk_seconds`.
    `redact_values`: of rows that differ, keys and hashes of values are listed and kept, and no value.
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


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """Two endpoint URLs (secrets included; never logged) and what to compare. No tables: all."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    tables: tuple[TableRequest, ...] = ()
    options: VerifyOptions = VerifyOptions()
    task: str | None = None
