"""tieout failures: what checks have found over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tieout.cli._support import options as common
from tieout.cli._support.context import load_context
from tieout.cli._support.output import result_stream
from tieout.model.defaults import LISTED_FAILURES
from tieout.model.documents import kept_failure_document
from tieout.model.failures import FailureState
from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.model.failures import KeptFailure

app = typer.Typer(help="List what checks have found over time, and decide about it.")

Reference = Annotated[
    str,
    typer.Argument(metavar="FAILURE", help="A failure's id, the beginning of an id, or 'last'.", show_default=False),
]
Note = Annotated[str | None, typer.Option("--note", metavar="TEXT", help="The reason, for the record.")]
State = Literal["open", "ignored", "resolved"]

_LISTED = (
    "id",
    "failure",
    "table",
    "index",
    "constraint",
    "primary_key",
    "state",
    "first_seen",
    "last_seen",
    "gone_since",
)


@app.command("list")
def list_(
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="List at most this many failures.")
    ] = LISTED_FAILURES,
    state: Annotated[State | None, typer.Option("--state", help="List only failures in this state.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", metavar="NAME", help="List only failures of this kind.")] = None,
    gone: Annotated[bool, typer.Option("--gone", help="Also list failures that later checks no longer found.")] = False,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """List failures, newest first."""
    from tieout import api
    from tieout.report.listing import write_listing

    found = api.list_failures(load_context(config, meta).meta, limit=limit, state=state, kind=kind, gone=gone)
    with result_stream() as stream:
        write_listing(_LISTED, [kept_failure_document(failure) for failure in found], output, stream)


@app.command("show")
def show(
    failure: Reference,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Show everything that is known about a failure."""
    from tieout import api

    _tell(api.show_failure(failure, load_context(config, meta).meta), output)


@app.command("ignore")
def ignore(
    failure: Reference,
    note: Note = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Mark a failure as known and accepted; checks still find it."""
    _judge(failure, FailureState.IGNORED, note, load_context(config, meta).meta, output)


@app.command("resolve")
def resolve(
    failure: Reference,
    note: Note = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Mark a failure as repaired; if a check finds it again, it is open again."""
    _judge(failure, FailureState.RESOLVED, note, load_context(config, meta).meta, output)


def _judge(failure: str, state: FailureState, note: str | None, meta: str, output: OutputFormat) -> None:
    from tieout import api

    _tell(api.judge_failure(failure, state, note, meta), output)


def _tell(failure: KeptFailure, output: OutputFormat) -> None:
    from tieout.report.listing import write_record

    with result_stream() as stream:
        write_record(kept_failure_document(failure), output, stream)
