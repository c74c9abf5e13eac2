"""How long a source keeps the log that a task reads."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.model.forecast import Problem


@dataclass(frozen=True, slots=True)
class Retention:
    """What a task has at its source, and what ends the log there.

    `left`: what stays there while no mover runs, in words; None: nothing. `kept`: bytes of log that the source keeps
    for this task; None: it keeps none for it in particular. `limit` says in words what ends it. `seconds`: how long
    the log is there, whoever still has to read it; None: time does not end it. `warning`: what may go wrong.
    """

    left: str | None
    kept: int | None
    limit: str
    seconds: float | None = None
    warning: Problem | None = None

    def warning_words(self, unread_seconds: float) -> str | None:
        """What may go wrong, and what to do, when the log was last read up to its end so long ago."""
        if self.seconds is not None and unread_seconds > self.seconds / 2:
            hours = f"{unread_seconds / 3600:.1f} hours"
            return f"{self.limit}, and no mover has read all of it for {hours}: run one before the log is gone"
        if self.warning is None:
            return None
        return f"{self.warning.message} ({self.warning.fix})" if self.warning.fix else self.warning.message
