"""Which connector serves which URL. A connector's folder is imported only when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from tieout.config.urls import EndpointUrl
from tieout.connectors.base import Endpoint
from tieout.errors import UnsupportedError

_MODULES = {
    "mysql": "tieout.connectors.mysql.endpoint",
    "postgresql": "tieout.connectors.postgres.endpoint",
    "sqlite": "tieout.connectors.sqlite.endpoint",
}


def open_endpoint(url: EndpointUrl) -> Endpoint:
    """Connects; raises an EndpointError that says what to do if it can't."""
    module = _MODULES.get(url.scheme)
    if module is None:
        raise UnsupportedError(f"{url.scheme}:// is not served by a connector")
    return cast(Endpoint, import_module(module).open_endpoint(url))
