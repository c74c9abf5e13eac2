"""All the commands, put together."""

from __future__ import annotations

import typer

from tieout.cli import verify

app = typer.Typer(
    name="tieout",
    help="Proves that two databases agree, on Apache Spark.",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback()
def _tieout() -> None:
    pass


app.command("verify")(verify.verify)
