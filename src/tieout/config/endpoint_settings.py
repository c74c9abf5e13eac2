"""The `endpoints` of tieout.yaml: a URL, and what may stand beside it instead of in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from tieout.config.durations import seconds_text
from tieout.config.field_types import AvailableUrl, Count, PositiveSeconds, Section, Text
from tieout.config.secrets import register_secret
from tieout.config.url_parameters import not_yet
from tieout.config.urls import DEFAULT_PORTS, EndpointUrl
from tieout.model.defaults import CONNECT_SECONDS, CONNECTIONS


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
