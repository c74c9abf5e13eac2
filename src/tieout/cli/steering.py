"""tieout pause, resume and stop: what is wanted of the process that runs a task."""

from __future__ import annotations

from tieout.cli import options as common
from tieout.cli.move_words import MovingTask, left_behind
from tieout.cli.output import result_stream
from tieout.cli.place import place
from tieout.report.render import OutputFormat


def pause(
    task: MovingTask,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Lets a running task rest: it keeps its place, and neither reads nor writes."""
    _steer(task, "pause", f"{task} will pause; tieout resume {task} lets it go on", place(config, meta).meta)


def resume(
    task: MovingTask,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Lets a paused task go on."""
    _steer(task, None, f"{task} goes on", place(config, meta).meta)


def stop(
    task: MovingTask,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Ends the process that runs a task, in order; tieout run goes on where it was."""
    from tieout import api

    here = place(config, meta)
    _steer(task, "stop", f"{task} will stop; tieout run {task} goes on", here.meta)
    told = api.move_status(task, here.meta)
    with result_stream() as stream:
        for line in left_behind(task, told or {}):
            stream.write(f"{line}\n")


def _steer(task: str, wanted: str | None, line: str, meta: str) -> None:
    from tieout import api
    from tieout.meta import Wanted

    api.steer_move(task, None if wanted is None else Wanted(wanted), meta)
    with result_stream() as stream:
        stream.write(f"{line}\n")
