"""tieout pause, resume and stop: what the process that runs a task should do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tieout.cli._support import options as common
from tieout.cli._support.context import load_context
from tieout.cli._support.output import result_stream
from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.meta import Wanted


def pause(
    task: common.MovingTask,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Pause a running task: it keeps its position and neither reads nor writes."""
    from tieout.meta import Wanted

    _control(task, Wanted.PAUSE, config, meta, output)


def resume(
    task: common.MovingTask,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Resume a paused task."""
    _control(task, None, config, meta, output)


def stop(
    task: common.MovingTask,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Stop the process that runs a task; tieout run continues where it stopped."""
    from tieout.meta import Wanted

    _control(task, Wanted.STOP, config, meta, output)


def _control(task: str, wanted: Wanted | None, config: Path | None, meta: str | None, output: OutputFormat) -> None:
    from tieout import api
    from tieout.report.move_status import write_control

    control = api.control_move(task, wanted, load_context(config, meta).meta)
    with result_stream() as stream:
        write_control(control, output, stream)
