"""What tieout.yaml holds, as typed values."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field

from tieout.config.endpoint_settings import EndpointSettings
from tieout.config.field_types import MayBeEmpty, Section, Text, Url
from tieout.config.secrets import looks_secret, register_secret
from tieout.config.task_settings import TaskSettings
from tieout.config.urls import EndpointUrl, parse_url
from tieout.errors import ConfigError
from tieout.model.defaults import META_URL, SPARK_MASTER
from tieout.model.levels import TargetLevel
from tieout.model.moves import Consistency, Delivery
from tieout.model.nearest import suggestion
from tieout.model.requests import Meaning, MoveRequest, VerifyRequest

_TIME_ZONE = "spark.sql.session.timeZone"


def _checked(conf: dict[str, str]) -> dict[str, str]:
    """Hides the secrets in it."""
    if conf.get(_TIME_ZONE, "UTC") != "UTC":
        raise ValueError(f"{_TIME_ZONE} can't be set: the expressions of tasks are evaluated in UTC")
    for name, value in conf.items():
        if looks_secret(name):
            register_secret(value)
    return conf


class SparkSettings(Section):
    """The Spark session that Tieout starts."""

    master: Text = SPARK_MASTER
    """Where it runs."""
    conf: Annotated[dict[str, str], MayBeEmpty, AfterValidator(_checked)] = Field(default={}, repr=False)
    """Spark's own settings, by name; not its time zone, which is UTC."""


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
            delivery=None if task.delivery is None else Delivery(task.delivery),
            consistency=None if task.consistency is None else Consistency(task.consistency),
            target_level=None if task.target_level is None else TargetLevel(task.target_level),
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
            meaning=Meaning.MOVED if task.is_moved else Meaning.SPARK,
        )
