"""What stops one table, while the others go on."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.model.positions import Position
from tieout.model.tables import TableName


@dataclass(frozen=True, slots=True)
class Trouble:
    """A table whose changes can't be staged as planned, and why.

    `columns`: those that it has in the log now, if they are others than planned. `before` is the last place in the
    log up to which nothing was wrong.
    """

    table: TableName
    reason: str
    before: Position
    columns: tuple[str, ...] | None = None


class TroubleFound(Exception):
    """Ends a batch: nothing of it is merged."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.reason)
        self.trouble = trouble


class ColumnsChanged(Exception):
    """The log tells of other columns than planned."""

    def __init__(self, reason: str, columns: tuple[str, ...]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.columns = columns
