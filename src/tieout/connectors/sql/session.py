"""One connection, as those see it who speak to several engines alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tieout.model.tables import TableName


class Session(Protocol):
    """A connection in autocommit mode until `begin`. Parameters are %s. Errors are EndpointErrors."""

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Rows changed."""

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def quote(self, name: str) -> str: ...

    def table(self, name: TableName) -> str: ...

    def text(self, value: str) -> str:
        """A literal."""

    def begin(self) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Never raises: a connection that is gone has rolled back."""

    def close(self) -> None: ...
