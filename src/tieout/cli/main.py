"""All commands put together, and the entry point: an error becomes one line and an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

import typer
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from tieout.cli import (
    check,
    config,
    control,
    demo,
    failures,
    init,
    jobs,
    preflight,
    repair,
    run,
    status,
    task,
    verify,
    version,
)
from tieout.cli._support.interrupts import watch_signals
from tieout.cli._support.output import prepare_streams, silence_libraries, write_stderr
from tieout.cli._support.process_title import hide_passwords
from tieout.config.secrets import scrub
from tieout.errors import TieoutError, UsageError
from tieout.exit_codes import ExitCode
from tieout.report.printable import error_line, one_line

app = typer.Typer(
    name="tieout",
    help="Move databases on Apache Spark and prove that they agree.",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

app.command("demo")(demo.demo)
app.command("init")(init.init)
app.command("preflight")(preflight.preflight)
app.command("verify")(verify.verify)
app.command("check")(check.check)
app.command("run")(run.run)
app.command("status")(status.status)
app.command("pause")(control.pause)
app.command("resume")(control.resume)
app.command("stop")(control.stop)
app.add_typer(task.app, name="task")
app.add_typer(repair.app, name="repair")
app.add_typer(jobs.app, name="jobs")
app.add_typer(failures.app, name="failures")
app.add_typer(config.app, name="config")
app.command("version")(version.version)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. An error is one line on stderr, unless --verbose asks for more."""
    if arguments is None:
        hide_passwords()
    words = list(sys.argv[1:] if arguments is None else arguments)
    verbose = not {"--verbose", "-v"}.isdisjoint(words)
    prepare_streams()
    silence_libraries(verbose)
    try:
        with watch_signals():
            code = get_command(app)(args=words or ["--help"], prog_name="tieout", standalone_mode=False)
        return code if isinstance(code, int) else ExitCode.OK
    except TyperException as error:
        write_stderr(scrub(error_line(_usage_error(error))))
    except TieoutError as error:
        write_stderr(scrub(error_line(error)))
    except SystemExit:
        return ExitCode.OK  # typer exits like this when the reader of its help closes the pipe
    except (KeyboardInterrupt, Abort):
        return ExitCode.INTERRUPTED
    except BaseException as error:  # a driver written in Rust panics with something that is not an Exception
        if verbose:
            write_stderr(scrub(traceback.format_exc()))
        write_stderr(scrub(f"error[crash]: {one_line(_crash(error))} — run again with --verbose for the traceback"))
    return ExitCode.FAILED


def _usage_error(error: TyperException) -> UsageError:
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "tieout")
    return UsageError(error.format_message().rstrip("."), f"see {path} --help")


def _crash(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__
