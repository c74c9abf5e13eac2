"""How a mover ended, in the words of its status. What it does before that is its own to tell."""

CAUGHT_UP = "caught up"
STOPPED_IN_PART = "stopped in part"
"""It has caught up with some of its tables, and gave up others."""
STOPPED = "stopped"
FAILED = "failed"
INTERRUPTED = "interrupted"
"""Its process is gone, and did not say why."""

ENDED = frozenset({CAUGHT_UP, STOPPED_IN_PART, STOPPED, FAILED})
"""What a mover says of itself when it ends in order."""
