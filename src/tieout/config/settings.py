"""What tieout.yaml holds, as typed values. The models take text, as the file has nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tieout.config.durations import parse_duration, parse_positive_duration, seconds_text
from tieout.config.secrets import looks_secret, register_secret
from tieout.config.url_parameters import not_yet
from tieout.config.urls import DEFAULT_PORTS, NOT_YET_SCHEMES, EndpointUrl, parse_url
from tieout.errors import ConfigError
from tieout.model.defaults import (
    CONNECT_SECONDS,
    CONNECTIONS,
    COPY_CHUNK_ROWS,
    FIRST_CHUNK_ROWS,
    META_URL,
    SPARK_MASTER,
)
from tieout.model.moves import DEFAULT_CONSISTENCY, DEFAULT_DELIVERY, Consistency, Delivery
from tieout.model.nearest import suggestion
from tieout.model.requests import MoveOptions, MoveRequest, TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import Strategy

_TOLERANCE = re.compile(r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<relative>\s+relative)?")


class Section(BaseModel):
    """A mapping of the file. Unknown keys are errors, the values are frozen, and docstrings describe the keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)

    not_yet: ClassVar[Mapping[str, str]] = {}
    """Planned keys and what each will be. Nothing acts on them yet, so a file with one is refused."""


def _seconds(value: Any) -> Any:
    return parse_duration(value) if isinstance(value, str) else value


def _positive_seconds(value: Any) -> Any:
    return parse_positive_duration(value) if isinstance(value, str) else value


def _list_of_one(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _nothing_is_empty(value: Any) -> Any:
    # "tasks:" with every entry commented out reads as null.
    return {} if value is None else value


def _url(value: Any) -> EndpointUrl:
    if isinstance(value, EndpointUrl):
        return value
    if not isinstance(value, str):
        raise ValueError("should be a URL")
    try:
        return parse_url(value)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _available(url: EndpointUrl) -> EndpointUrl:
    if url.scheme in NOT_YET_SCHEMES:
        raise ValueError(f"{url.scheme}:// is not available yet")
    return url


def _endpoint(value: str, info: ValidationInfo) -> str:
    if ":" in value or "@" in value:
        return _available(_url(value)).reveal()
    known = (info.context or {}).get("endpoints")
    if known is not None and value not in known:
        raise ValueError(f'no endpoint is named "{value}" ({suggestion(value, known)})')
    return value


def _tolerance(value: str) -> str:
    match = _TOLERANCE.fullmatch(value.strip())
    if match is None or not 0 < float(match["number"]) < math.inf:
        raise ValueError(f'"{value}" is not a tolerance (write 0.001, or "1e-9 relative")')
    return match["number"] + (" relative" if match["relative"] else "")


Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0), BeforeValidator(_seconds)]
PositiveSeconds = Annotated[float, Field(gt=0), BeforeValidator(_positive_seconds)]
Names = Annotated[tuple[Text, ...], BeforeValidator(_list_of_one)]
Tolerance = Annotated[str, AfterValidator(_tolerance)]
Url = Annotated[EndpointUrl, PlainValidator(_url)]
AvailableUrl = Annotated[Url, AfterValidator(_available)]
"""The URL of an endpoint that a connector, or Spark, can open."""
EndpointReference = Annotated[Text, AfterValidator(_endpoint)]
"""The name of an endpoint, or a URL. The context may list the names as `endpoints`; else every name passes."""
MayBeEmpty = BeforeValidator(_nothing_is_empty)


class ColumnExpression(Section):
    """The SQL to compare a column by. Plain text is the source's SQL."""

    source: Text
    """SQL on the source."""
    target: Text | None = None
    """SQL on the target (default: the column itself)."""

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
    """SQL that chooses rows, on both sides."""
    source_where: Text | None = None
    """SQL that chooses rows on the source, instead of `where`."""
    target_where: Text | None = None
    """SQL that chooses rows on the target, instead of `where`."""
    columns: Columns | None = None
    """A list: only these columns. A mapping: SQL that computes a column, for the source or for each side."""
    exclude_columns: Names = ()
    """Columns to leave out."""
    exclude: Names = ()
    """Tables that the pattern should not match."""
    key: Names | None = None
    """The columns that identify a row (default: the primary key)."""
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
    max_rows_per_second: Count | None = _MOVE.max_rows_per_second
    """Copy or change at most this many rows per second."""
    max_load: Count | None = _MOVE.max_load
    """Wait while the target runs more statements than this; not for SQLite."""
    max_replica_lag: PositiveSeconds | None = _MOVE.max_replica_lag
    """Wait while a replica of the target is further behind than this; for PostgreSQL only."""

    def options(self) -> MoveOptions:
        """The options of a mover."""
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
    """Which tables (default: all)."""
    delivery: Literal["at-least-once", "at-most-once", "exactly-once"] = DEFAULT_DELIVERY.value
    """How often a change may be applied."""
    consistency: Literal["row", "table", "transaction"] = DEFAULT_CONSISTENCY.value
    """What the target never shows half done."""
    move: Annotated[MoveSettings, MayBeEmpty] = MoveSettings()
    """How tables are moved."""
    options: Annotated[OptionSettings, MayBeEmpty] = OptionSettings()
    """How tables are verified."""

    @property
    def is_moved(self) -> bool:
        """Whether it has a section `move`, even an empty one. `delivery` does not count: the template has it."""
        return "move" in self.model_fields_set


class EndpointSettings(Section):
    """A database or a lake. A limit beside the URL overrides the one in it; user and password are given once."""

    url: AvailableUrl
    """Where it is."""
    user: Text | None = None
    """The user, if the URL has none."""
    password: str | None = Field(default=None, repr=False)
    """The password as it is (not percent-encoded), if the URL has none."""
    connections: Count | None = Field(
        default=None, description=f"The most connections that a verification opens at once (default: {CONNECTIONS})."
    )
    connect_timeout: PositiveSeconds | None = Field(
        default=None, description=f"How long to wait for a connection to a server (default: {CONNECT_SECONDS}s)."
    )
    read_timeout: PositiveSeconds | None = None
    """How long to wait for an answer; for mysql URLs only."""

    @field_validator("connect_timeout", "read_timeout", mode="after")
    @classmethod
    def _acted_on(cls, value: float | None, info: ValidationInfo) -> float | None:
        url, name = info.data.get("url"), str(info.field_name)
        if value is not None and url is not None and (refusal := not_yet(url.scheme, name)) is not None:
            raise ValueError(refusal)
        return value

    @model_validator(mode="after")
    def _credentials_once(self) -> Self:
        register_secret(self.password)
        for name in ("user", "password"):
            if getattr(self, name) is not None and self.url.scheme not in DEFAULT_PORTS:
                raise ValueError(f"{name} is given, but a {self.url.scheme} URL takes none")
            if getattr(self, name) is not None and getattr(self.url, name) is not None:
                raise ValueError(f"{name} is given twice: in the URL and beside it")
        return self

    def resolved(self) -> EndpointUrl:
        """The URL with the settings beside it."""
        params = dict(self.url.params)
        if self.connections is not None:
            params["connections"] = str(self.connections)
        if self.connect_timeout is not None:
            params["connect_timeout"] = seconds_text(self.connect_timeout)
        if self.read_timeout is not None:
            params["read_timeout"] = seconds_text(self.read_timeout)
        user, password = self.url.user or self.user, self.url.password or self.password
        return replace(self.url, user=user, password=password, params=params)


def _hide_secrets(conf: dict[str, str]) -> dict[str, str]:
    for name, value in conf.items():
        if looks_secret(name):
            register_secret(value)
    return conf


class SparkSettings(Section):
    """The Spark session that Tieout starts."""

    master: Text = SPARK_MASTER
    """Where it runs."""
    conf: Annotated[dict[str, str], MayBeEmpty, AfterValidator(_hide_secrets)] = Field(default={}, repr=False)
    """Spark's own settings, by name."""


def _keeps_tables(url: EndpointUrl) -> EndpointUrl:
    if url.scheme not in ("sqlite", "postgresql", "mysql"):
        raise ValueError(f"should be a sqlite, postgresql or mysql URL, not {url.scheme}")
    return url


class Settings(Section):
    """The whole of a tieout.yaml."""

    meta: Annotated[Url, AfterValidator(_keeps_tables)] = parse_url(META_URL)
    """The meta store: a sqlite, postgresql or mysql URL."""
    redact_values: bool = False
    """Keep row values out of reports, logs and the meta store; keys and hashes remain."""
    spark: Annotated[SparkSettings, MayBeEmpty] = SparkSettings()
    """The Spark session."""
    endpoints: Annotated[dict[Text, EndpointSettings], MayBeEmpty] = Field(default={})
    """Databases and lakes, by name."""
    tasks: Annotated[dict[Text, TaskSettings], MayBeEmpty] = Field(default={})
    """What to move and to verify, by name."""

    def task(self, name: str) -> TaskSettings:
        """The task of this name; ConfigError names the nearest one."""
        if name in self.tasks:
            return self.tasks[name]
        hint = suggestion(name, self.tasks) if self.tasks else "the configuration has no tasks"
        raise ConfigError(f'no task is named "{name}"', hint)

    def endpoint(self, name_or_url: str) -> str:
        """The URL, secrets included, of an endpoint given by name or by URL."""
        if name_or_url in self.endpoints:
            return self.endpoints[name_or_url].resolved().reveal()
        if ":" in name_or_url or "@" in name_or_url or not self.endpoints:
            return parse_url(name_or_url).reveal()
        raise ConfigError(f'no endpoint is named "{name_or_url}"', suggestion(name_or_url, self.endpoints))

    def move_request(self, task_name: str) -> MoveRequest:
        """The request of the task to a mover."""
        task = self.task(task_name)
        return MoveRequest(
            task=task_name,
            source=self.endpoint(task.source),
            target=self.endpoint(task.target),
            tables=tuple(table.request() for table in task.tables),
            delivery=Delivery(task.delivery),
            consistency=Consistency(task.consistency),
            options=task.move.options(),
            redact_values=self.redact_values,
        )

    def verify_request(self, task_name: str) -> VerifyRequest:
        """The request of the task to a verification."""
        task = self.task(task_name)
        return VerifyRequest(
            source=self.endpoint(task.source),
            target=self.endpoint(task.target),
            tables=tuple(table.request() for table in task.tables),
            options=replace(task.options.options(), redact_values=self.redact_values),
            task=task_name,
        )
