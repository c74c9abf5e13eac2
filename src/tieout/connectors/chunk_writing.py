"""A chunk and the word that it is copied, written in one transaction: the same on every target."""

from __future__ import annotations

from collections.abc import Callable

from tieout.connectors.sql.progress import ProgressTables
from tieout.failpoints import reach
from tieout.model.moving import Chunk, Fence, Held


def write_chunk(
    progress: ProgressTables,
    lock: str,
    fence: Fence,
    chunk: Chunk,
    held: Held,
    load: Callable[[], int],
    commit: Callable[[], None],
) -> int:
    """Rows written. `lock`: how the fence is read by many at once. FencedError if another mover has taken over."""
    progress.session.begin()
    progress.check(fence, lock)
    done = progress.copied(fence, chunk)
    if done is not None:
        return done  # the answer to an earlier try was lost
    reach("chunk-before-load")
    rows = load()
    progress.finish_chunk(fence, chunk, held, rows)
    reach("chunk-before-commit")
    commit()
    reach("chunk-after-commit")
    return rows
