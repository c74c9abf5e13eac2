"""The context of a command: its configuration, its meta store, its Spark session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tieout.cli._support.output import write_stderr

if TYPE_CHECKING:
    from tieout.api import SparkSettings
    from tieout.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Context:
    """The configuration, with the options that override it."""

    settings: Settings
    meta: str
    master: str
    conf: Mapping[str, str]

    def spark(self, verbose: bool, *, redacts: bool) -> SparkSettings:
        """The session to start if one is needed. Spark's log quotes values: redaction suppresses it."""
        from tieout.api import SparkSettings

        if verbose and redacts:
            write_stderr("Spark's log is suppressed: it would show row values, and values are redacted")
        return SparkSettings(self.master, self.conf, verbose and not redacts)


def load_context(
    config: Path | None, meta: str | None = None, master: str | None = None, *, required: bool = False
) -> Context:
    """Reads the configuration. Without --config and ./tieout.yaml it has the defaults, unless a file is required."""
    from tieout.config.file import load

    settings = load(config, required=required)
    return Context(
        settings,
        meta or settings.meta.reveal(),
        master or settings.spark.master,
        settings.spark.conf,
    )
