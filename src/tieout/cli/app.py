"""All the commands, put together."""

from __future__ import annotations

import typer

from tieout.cli import config, demo, init, jobs, preflight, repair, verify, version

app = typer.Typer(
    name="tieout",
    help="Proves that two databases agree, on Apache Spark.",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

app.command("demo")(demo.demo)
app.command("init")(init.init)
app.command("preflight")(preflight.preflight)
app.command("verify")(verify.verify)
app.add_typer(repair.app, name="repair")
app.add_typer(jobs.app, name="jobs")
app.add_typer(config.app, name="config")
app.command("version")(version.version)
