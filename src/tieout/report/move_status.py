"""The status of tasks, and requests to their movers, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TextIO

from tieout.model.documents import control_document, dropped_document, move_status_document, restarted_document
from tieout.model.move_status import DroppedTask, MoveControl, MoveStatus, RestartedTable, RowNotFound
from tieout.report.finish import finish_lines
from tieout.report.listing import write_listing, write_record
from tieout.report.printable import printable
from tieout.report.render import OutputFormat
from tieout.wording import plural, size

_STATUSES = ("task", "state", "position", "changes", "rows_per_second", "updated_at", "message")
_TABLES = ("source", "target", "rows_copied", "chunks_done", "chunks", "transaction", "committed_at", "stopped")
_CONTROLS = {
    "pause": "{task} will pause; resume it with tieout resume {task}",
    "run": "{task} will continue",
    "stop": "{task} will stop; continue with tieout run {task}",
}


def write_status(status: MoveStatus, format: OutputFormat, stream: TextIO, *, details: bool = True) -> None:
    """Text without `details` leaves out tables and remarks; the other formats always have them."""
    if format is not OutputFormat.TEXT:
        write_record(move_status_document(status), format, stream)
        return
    write_record(_values(status), format, stream)
    if status.finish is not None:
        stream.write("\n")
        stream.writelines(f"{line}\n" for line in finish_lines(status.finish))
    if not details:
        return
    stream.write("\n")
    write_listing(_TABLES, [_table_values(status, index) for index in range(len(status.tables))], format, stream)
    for remark in (*status.chosen, *status.remarks, *map(_not_found, status.not_found)):
        stream.write(f"{remark}\n")


def _not_found(row: RowNotFound) -> str:
    if row.kind is None:
        return f"{row.table}: {plural(row.rows, 'more row')} to update or delete not found"
    key = "" if row.key is None else " " + ", ".join(f"{name}={value}" for name, value in row.key.items())
    then = "; it was inserted" if row.kind == "update" else ""
    what = f"row{key}" if row.rows == 1 else plural(row.rows, "row")
    return printable(f"{row.table}: {what} to {row.kind} not found, up to {row.position}{then}")


def write_statuses(statuses: Sequence[MoveStatus], format: OutputFormat, stream: TextIO) -> None:
    """A line for each task."""
    write_listing(_STATUSES, [_values(status) for status in statuses], format, stream)


def write_control(control: MoveControl, format: OutputFormat, stream: TextIO) -> None:
    """What the mover will do, and what stays at the source if it stops."""
    if format is not OutputFormat.TEXT:
        write_record(control_document(control), format, stream)
        return
    stream.write(_CONTROLS[control.wanted].format(task=control.task) + "\n")
    stream.writelines(f"{line}\n" for line in _left_behind(control))


def write_dropped(dropped: DroppedTask, format: OutputFormat, stream: TextIO) -> None:
    if format is not OutputFormat.TEXT:
        write_record(dropped_document(dropped), format, stream)
    else:
        stream.write(f"{dropped.task} is dropped; its target tables stay\n")


def write_restarted(restarted: RestartedTable, format: OutputFormat, stream: TextIO) -> None:
    if format is not OutputFormat.TEXT:
        write_record(restarted_document(restarted), format, stream)
        return
    by = "by the mover that runs" if restarted.is_running else f"by the next mover: tieout run {restarted.task}"
    stream.write(f"{restarted.source} will be emptied on the target and copied again, {by}\n")


def progress_line(status: MoveStatus) -> str:
    """How far a running mover is, in one line."""
    left = status.seconds_left
    if status.state == "copying":
        to_go = "" if left is None else f", {left:,.0f} s to go"
        rate = status.rows_per_second or 0.0
        return f"copying: {plural(status.rows_copied, 'row')}, {rate:,.0f} rows/s{to_go}"
    behind = "" if status.lag_seconds is None else f", {status.lag_seconds:.1f} s behind"
    behind += f" ({left:,.0f} s to go)" if left else ""
    upto = "" if status.position is None else f" up to {status.position}"
    return f"{status.state}: {plural(status.changes, 'change')}{upto}{behind}"


def _left_behind(control: MoveControl) -> Iterator[str]:
    """What stays at the source of a mover that is to stop, and how long the source keeps the log that it needs."""
    if control.log_limit is None:  # another request than stop, or the mover has not asked its source yet
        return
    if control.left_behind is None:
        yield f"nothing stays at the source; {control.log_limit}"
        return
    kept = control.log_kept_bytes
    log = "" if kept is None else f", which keeps {size(kept)} of log for the task"
    yield f"{control.left_behind} stay at the source{log}; {control.log_limit}"
    yield f"tieout task drop {control.task} removes them"


def _values(status: MoveStatus) -> dict[str, object]:
    """The fields that describe the whole task, as people read them."""
    elsewhere = ("tables", "remarks", "chosen", "finish", "not_found")
    values = {name: value for name, value in asdict(status).items() if name not in elsewhere}
    del values["newest_commit"]
    return values | {"newest_commit": _moment(status.newest_commit), "updated_at": status.updated_at}


def _table_values(status: MoveStatus, index: int) -> dict[str, object]:
    table = status.tables[index]
    return asdict(table) | {"committed_at": _moment(table.committed_at)}


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else datetime.fromtimestamp(microseconds / 1e6, UTC)
