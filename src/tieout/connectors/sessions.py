"""One connection, as those see it who speak to several engines alike."""

from __future__ import annotations

import re
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

    def begin(self) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Never raises: a connection that is gone has rolled back."""

    def close(self) -> None: ...


_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`"""
_TEXT_OR_NAME = re.compile(_QUOTED)
_TEXT_NAME_OR_MARK = re.compile(f"{_QUOTED}|%s")


def formattable(statement: str) -> str:
    """The statement for a driver that puts parameters in by formatting: a % in a quoted name stands for itself.

    A % in a text has to be written %% by whoever writes the statement.
    """
    return _TEXT_OR_NAME.sub(
        lambda found: found[0] if found[0].startswith("'") else found[0].replace("%", "%%"), statement
    )


def with_question_marks(statement: str) -> str:
    """The statement for a driver whose parameters are ?. A %s in a quoted name is a part of the name."""
    return _TEXT_NAME_OR_MARK.sub(lambda found: "?" if found[0] == "%s" else found[0], statement)
