"""Where a mover resumes: the position that the target's rows have, as a position in the log that the source has now."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Merge, Source, Target
from tieout.errors import BusyError, LogLostError
from tieout.meta.positions import Moves
from tieout.model.moves import Delivery, Fence
from tieout.model.positions import Position
from tieout.model.tables import TableName
from tieout.move.status import StatusKeeper

START_OVER = "drop the task and start over"


def start_over(source: Endpoint, task: str) -> str:
    """What to do about stopped tables. A feed is read from its beginning again, and stops where it did."""
    if source.capabilities.rows:
        return f"copy a table again: tieout task restart {task} TABLE; or {START_OVER}"
    return (
        "if an event stopped it, drop the task, empty its tables and start over with events from after that one; "
        f"if the target did, correct it, then: tieout task restart {task} TABLE"
    )


def all_stopped(task: str, reason: str | None) -> str:
    return f"every table of the task {task} is stopped: {reason}"


@dataclass(frozen=True)
class Resume:
    """The target stores the position of its rows. With at-most-once, the meta store stores the last batch, too."""

    task: str
    delivery: Delivery
    source: Source
    target: Target
    fence: Fence
    moves: Moves
    status: StatusKeeper

    @property
    def _log(self) -> ChangeLog:
        return self.source.log(self.task)

    def start(self, tables: Sequence[TableName]) -> tuple[Position, Position | None]:
        """The position of the rows in the source's present log; and the end of a batch that an earlier mover may have
        applied after it. LogLostError unless it is proven that the log continues there.
        """
        # First: it waits for merges whose answers were lost, and they may move the progress yet.
        self.target.lanes.keep_ahead(self.fence)
        known = self.target.progress.read(self.task)
        assert known is not None
        start = known.reached
        assert start is not None
        if self.delivery is Delivery.AT_MOST_ONCE:
            start = self._after_lost_batch(start)
        chunks = self.target.chunks.of(self.task, tables)
        held = [chunk.held.settled or chunk.held.position for chunk in chunks if chunk.held is not None]
        ahead = [position for position in held if not (start.is_same_log(position) and start.reaches(position))]
        self._prove_lanes()
        found = self._log.resume(start, ahead)
        # What may have been applied of that batch has to be in the log, too.
        end = None if known.batch_end is None else self._log.resume(known.batch_end)
        if found == start:
            return start, end
        is_other = not start.is_same_log(found)
        if is_other and ahead:
            raise LogLostError(
                f"the source has another log than when rows were copied at {ahead[0]}, so it is unknown which changes "
                "they contain",
                "drop the task, empty its tables and start over",
            )
        # Whatever the delivery: it may have been at-most-once, and the rows have passed the batch that was kept then.
        self.moves.forget_batch(self.task)
        self.target.progress.rebase(self.fence, start, found, batch_end=end, chunks=is_other)
        self.status.remarks.append(f"the source was restarted or replaced: its log continues after {found}")
        return found, end

    def _prove_lanes(self) -> None:
        """Finds the positions of lanes that are ahead in the log that the source has now. LogLostError if they are not
        proven to be in it.
        """
        for each in self.target.lanes.ahead(self.task):
            now = self._log.resume(each.applied)
            if now != each.applied:
                self.target.lanes.rebase(self.fence, each.lane, now)

    def _after_lost_batch(self, start: Position) -> Position:
        """At-most-once never applies a batch twice that an earlier mover began. It gives up that batch, no other."""
        kept = self.moves.kept_batch(self.task)
        if kept is None:
            return start
        after, upto = (None if text is None else Position(text) for text in kept)
        assert upto is not None
        if upto.is_same_log(start) and start.reaches(upto):
            return start
        if after is not None and after != start:
            raise LogLostError(
                f"the target's rows are at {start}, and were at {after} before: somebody restored an earlier copy, and "
                "at-most-once applies nothing twice",
                "run the task with at-least-once, or drop it and start over",
            )
        self.status.remarks.append(f"changes from {start} to {upto} may be lost: at-most-once")
        self.target.progress.mark_inexact(self.fence)
        self.target.record(self.fence, Merge((), start, upto))
        self.target.lanes.keep_ahead(self.fence)
        return upto

    def keep_batch(self, after: Position, upto: Position) -> None:
        """Stores a batch before the target has it (at-most-once). A fenced-off mover stores nothing."""
        with self.target.progress.together(self.fence):
            # In the meta store first: the source can't repeat what it has let go.
            self.moves.keep_batch(self.status.job_id, self.task, after.text, upto.text)
            if self.source.keeps_position:
                with suppress(BusyError):  # a later batch will confirm it
                    self._log.confirm(upto)
