"""All the commands, put together."""

from __future__ import annotations

import typer

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

app = typer.Typer(
    name="tieout",
    help="Moves databases on Apache Spark, and proves that they agree.",
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
