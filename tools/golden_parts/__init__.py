"""The parts of tools/golden: each records one side of what users and scripts see, as text that diffs well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True, slots=True)
class Part:
    """`recorder` is `module:function`; the function returns the text of tests/golden/NAME.txt."""

    name: str
    recorder: str
    describes: str

    def record(self) -> str:
        module, _, name = self.recorder.partition(":")
        function: Callable[[], str] = getattr(import_module(f"tools.golden_parts.{module}"), name)
        return function()


PARTS = {
    part.name: part
    for part in (
        Part("help", "command_line:record_help", "the help of every command"),
        Part("errors", "command_line:record_errors", "error codes, and how a command ends with each"),
        Part("api", "api:record", "the public names of Python, their signatures and types"),
        Part("meta", "tables:record_meta", "the tables of a meta store on SQLite"),
        Part("tables", "tables:record", "those of a meta store on servers; what a move leaves on both sides"),
        Part("commands", "commands:record", "output and exit code of every command, on SQLite"),
        Part("servers", "servers:record", "output and exit code of verify, check, repair and run on servers"),
        Part("statements", "statements:record", "how many statements servers are asked by verify, check and run"),
    )
}
"""By name; the first four start no server and no Spark."""
