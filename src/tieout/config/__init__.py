"""tieout.yaml and endpoint URLs as typed values, and secrets kept out of messages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tieout.config.secrets import SecretFilter, redact, register_secret, scrub
from tieout.config.urls import EndpointUrl, parse_url

if TYPE_CHECKING:
    from tieout.config.file import load
    from tieout.config.settings import Settings
    from tieout.config.template import write_template

__all__ = [
    "EndpointUrl",
    "SecretFilter",
    "Settings",
    "load",
    "parse_url",
    "redact",
    "register_secret",
    "scrub",
    "write_template",
]

# Connectors parse URLs on executors, which have no use for pydantic and a YAML parser.
_ON_FIRST_USE = {"Settings": "settings", "load": "file", "write_template": "template"}


def __getattr__(name: str) -> object:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ON_FIRST_USE[name]}"), name)
