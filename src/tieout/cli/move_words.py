"""A mover's status in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from tieout.wording import plural, size

MovingTask = Annotated[str, typer.Argument(metavar="TASK", help="A task of the configuration.", show_default=False)]

TABLES = ("source", "target", "rows_copied", "chunks_done", "chunks", "transaction", "committed_at", "stopped")


def told_line(status: Mapping[str, Any]) -> str:
    """One line, now and then, of how far it is."""
    if status["state"] == "copying":
        copied = sum(table["rows_copied"] for table in status["tables"])
        left = status.get("seconds_left")
        to_go = "" if left is None else f", {left:,.0f} s to go"
        return f"copying: {plural(copied, 'row')}, {status['rows_per_second']:,.0f} rows/s{to_go}"
    lag, left = status.get("lag_seconds"), status.get("seconds_left")
    behind = "" if lag is None else f", {lag:.1f} s behind"
    behind += f" ({left:,.0f} s to go)" if left else ""
    return f"{status['state']}: {plural(status['changes'], 'change')} up to {status['position']}{behind}"


def left_behind(task: str, status: Mapping[str, Any]) -> Iterator[str]:
    """What stays at the source of a mover that is to stop, and how long the log that it needs is kept."""
    left, kept, limit = (status.get(name) for name in ("left_behind", "log_kept_bytes", "log_limit"))
    if limit is None:  # it did not get as far as to look
        return
    if left is None:
        yield f"nothing stays at the source; {limit}"
        return
    log = "" if kept is None else f", which keeps {size(kept)} of log for the task"
    yield f"{left} stay at the source{log}; {limit}"
    yield f"tieout task drop {task} removes them"


def status_values(status: Mapping[str, Any]) -> dict[str, Any]:
    """What a person wants to see of it; tables and remarks are listed by themselves."""
    values = {
        name: value for name, value in status.items() if name not in ("kind", "tables", "remarks", "newest_commit")
    }
    newest, updated = status.get("newest_commit"), status.get("updated_at")
    return values | {
        "newest_commit": None if newest is None else moment(newest),
        "updated_at": None if updated is None else datetime.fromisoformat(updated),
    }


def table_values(table: Mapping[str, Any]) -> dict[str, Any]:
    at = table.get("committed_at")
    return dict(table) | {"committed_at": None if at is None else moment(at)}


def moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, UTC)
