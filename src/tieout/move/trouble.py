"""What stops one table, while the others go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tieout.model.positions import Position
from tieout.model.tables import TableName


@dataclass(frozen=True, slots=True)
class Trouble:
    """A table whose changes can't be staged as planned, and why.

    `columns`: those that it has in the log now, if they are others than planned, and `defaults` what the log says that
    rows got in new ones. `before` is the last place in the log up to which nothing was wrong; `exact`: all that lies
    before it can be applied.
    """

    table: TableName
    reason: str
    before: Position
    columns: tuple[str, ...] | None = None
    defaults: Mapping[str, str | None] | None = None
    exact: bool = False


class TroubleFound(Exception):
    """Ends a batch: nothing of it is merged."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.reason)
        self.trouble = trouble


class ColumnsChanged(Exception):
    """The log tells of other columns than planned."""

    def __init__(self, reason: str, columns: tuple[str, ...], defaults: Mapping[str, str | None] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.columns = columns
        self.defaults = defaults


class TableChanged(Exception):
    """The table's definition was changed in a way that its rows in the log do not tell."""
