"""Opens the connector of a URL, and imports its folder only then."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import cast

from tieout.config.urls import NOT_YET_SCHEMES, EndpointUrl
from tieout.connectors.protocols.check import Checker
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Source, Target
from tieout.connectors.protocols.repair import Repairer, Writer
from tieout.errors import UnsupportedError

CONNECTORS = {
    "mysql": "tieout.connectors.mysql",
    "postgresql": "tieout.connectors.postgres",
    "sqlite": "tieout.connectors.sqlite",
    "duckdb": "tieout.connectors.duckdb",
    "debezium": "tieout.connectors.debezium",
}


def open_endpoint(url: EndpointUrl) -> Endpoint:
    """Connects to describe and read a database. Raises an EndpointError that says what to do if it can't."""
    return cast(Endpoint, import_module(f"{_folder(url)}.endpoint").open_endpoint(url))


def open_writer(url: EndpointUrl) -> Writer:
    """Connects to change rows. Raises an EndpointError that says what to do if it can't."""
    return cast(Writer, _part(url, "", "writer", "changed").open_writer(url))


def open_checker(url: EndpointUrl) -> Checker:
    """Connects to check a database against itself, in sessions that can't write and don't wait long for locks.

    UnsupportedError if the connector has no `check` folder.
    """
    guarded = replace(url, read_only=True)
    return cast(Checker, _part(url, "check", "checker", "checked").open_checker(guarded))


def open_repairer(url: EndpointUrl, *, enforce_constraints: bool = True) -> Repairer:
    """Connects to repair what a check found; without `enforce_constraints`, to undo such a repair."""
    return cast(
        Repairer,
        _part(url, "check", "repairer", "repaired").open_repairer(url, enforce_constraints=enforce_constraints),
    )


def open_source(url: EndpointUrl) -> Source:
    """Returns the source of a move. UnsupportedError if the connector has no `move` folder."""
    return cast(Source, _part(url, "move", "source", "followed or moved").open_source(url))


def open_target(url: EndpointUrl) -> Target:
    """Connects to the target of a move. UnsupportedError if the connector has no `move/target.py`."""
    return cast(Target, _part(url, "move", "target", "moved").open_target(url))


def _part(url: EndpointUrl, package: str, part: str, done: str) -> ModuleType:
    """Imports an optional module of a connector, which may lack its folder, too."""
    folder = f"{_folder(url)}.{package}".rstrip(".")
    try:
        return import_module(f"{folder}.{part}")
    except ModuleNotFoundError as error:
        if error.name not in (folder, f"{folder}.{part}"):
            raise
        raise UnsupportedError(f"rows can't be {done} with {url.scheme}://") from None


def _folder(url: EndpointUrl) -> str:
    folder = CONNECTORS.get(url.scheme)
    if url.scheme in NOT_YET_SCHEMES:
        raise UnsupportedError(f"{url.scheme}:// is not available yet")
    if folder is None:
        raise UnsupportedError(f"{url.scheme}:// is not served by a connector")
    return folder
