"""What tieout.yaml holds, as typed values."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from tieout.config.durations import seconds_text
from tieout.config.endpoint_url import DEFAULT_PORTS, EndpointUrl
from tieout.config.fields import AvailableUrl, Count, MayBeEmpty, PositiveSeconds, Section, Text, Url
from tieout.config.secrets import looks_secret, register_secret
from tieout.config.task_settings import TaskSettings
from tieout.config.url_params import not_yet
from tieout.config.urls import parse_url
from tieout.errors import ConfigError
from tieout.model.defaults import CONNECT_SECONDS, CONNECTIONS, META_URL, SPARK_MASTER
from tieout.model.moves import Consistency, Delivery
from tieout.model.nearest import suggestion
from tieout.model.requests import MoveRequest, VerifyRequest


class EndpointSettings(Section):
    """A database or a lake. A limit beside the URL outranks the one in it; user and password stand in one place."""

    url: AvailableUrl
    """Where it is."""
    user: Text | None = None
    """The user, if the URL has none."""
    password: str | None = Field(default=None, repr=False)
    """The password as it is (not percent-encoded), if the URL has none."""
    connections: Count | None = Field(
        default=None, description=f"The most connections that a verification opens at once; {CONNECTIONS} unless given."
    )
    connect_timeout: PositiveSeconds | None = Field(
        default=None, description=f"How long to wait for a connection to a server; {CONNECT_SECONDS}s unless given."
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
                raise ValueError(f"{name} is given, and a {self.url.scheme} URL takes none")
            if getattr(self, name) is not None and getattr(self.url, name) is not None:
                raise ValueError(f"{name} is given twice: in the URL and beside it")
        return self

    def resolved(self) -> EndpointUrl:
        """The URL with all that stands beside it."""
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
    """Keep values of rows out of reports, logs and the meta store: keys and hashes remain."""
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
        """What the task asks of a mover."""
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
        """What the task asks of a verification."""
        task = self.task(task_name)
        return VerifyRequest(
            source=self.endpoint(task.source),
            target=self.endpoint(task.target),
            tables=tuple(table.request() for table in task.tables),
            options=replace(task.options.options(), redact_values=self.redact_values),
            task=task_name,
        )
