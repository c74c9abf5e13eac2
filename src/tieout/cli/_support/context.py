"""Where a command works: its configuration, its meta store, its Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tieout.cli._support.output import say

if TYPE_CHECKING:
    from tieout.api import SparkSettings
    from tieout.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Place:
    """The configuration, and what was typed in place of it."""

    settings: Settings
    meta: str
    master: str
    conf: Mapping[str, str]

    def spark(self, verbose: bool, *, redacts: bool) -> SparkSettings:
        """The session to start, if one is needed. Spark's log quotes values: where they are redacted it is left out."""
        from tieout.api import SparkSettings

        if verbose and redacts:
            say("Spark's log is left out: it would tell values of rows, and they are redacted")
        return SparkSettings(self.master, self.conf, verbose and not redacts)


def place(config: Path | None, meta: str | None = None, master: str | None = None, *, required: bool = False) -> Place:
    """Reads the configuration. Without --config and ./tieout.yaml the defaults do, unless it is required."""
    from tieout.config.file import load

    settings = load(config, required=required)
    return Place(
        settings,
        meta or settings.meta.reveal(),
        master or settings.spark.master,
        settings.spark.conf,
    )
