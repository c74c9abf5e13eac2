#!/usr/bin/env python3
"""Writes the tables of options in docs/reference/commands.md: `<!-- options of COMMAND -->` to `<!-- end -->`.

    .venv/bin/python tools/commands.py           # writes
    .venv/bin/python tools/commands.py --check   # exit 1 if something is out of date

A test holds the document to the commands, so run it after a change of one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from typer.main import get_command

from tieout.cli.main import app

DOCUMENT = Path(__file__).parent.parent / "docs" / "reference" / "commands.md"
EVERYWHERE = ("--output", "--config", "--quiet", "--verbose", "--help")

_BLOCK = re.compile(r"(?P<start><!-- options of (?P<name>[\w ]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


def commands() -> dict[str, Any]:
    """Every command by its full name: `verify`, `jobs list`."""
    return dict(_commands(get_command(app), ()))


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path), command
        return
    for name, each in inner.items():
        yield from _commands(each, (*path, name))


def options_table(command: Any) -> str:
    """The command's arguments and options, without those that every command has."""
    rows = [("option", "meaning"), ("---", "---")]
    rows += [(_usage(param), _meaning(param)) for param in command.params if not set(param.opts) & set(EVERYWHERE)]
    return (
        "".join(f"| {one} | {other} |\n" for one, other in rows) if len(rows) > 2 else "It has no options of its own.\n"
    )


def _usage(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{param.metavar or param.name.upper()}`".replace("|", "\\|")
    names = ", ".join(f"`{name}`" for name in param.opts)
    if getattr(param, "is_flag", False):
        return names
    choices = param.type_descriptor.choices
    value = param.metavar or ("|".join(str(choice) for choice in choices) if choices else "N")
    return f"{names} `{value}`".replace("|", "\\|")


def _meaning(param: Any) -> str:
    text = str(param.help or "").replace("|", "\\|")
    default = param.default
    return text if default in (None, False) or callable(default) else f"{text} Default: {default}."


def refreshed(text: str) -> str:
    """The document with every table as the commands are now; KeyError for a command that is not there."""
    known = commands()
    return _BLOCK.sub(lambda match: f"{match['start']}{options_table(known[match['name']])}{match['end']}", text)


def block_names(text: str) -> list[str]:
    return [match["name"] for match in _BLOCK.finditer(text)]


def main(arguments: Sequence[str]) -> int:
    text = DOCUMENT.read_text(encoding="utf-8")
    if refreshed(text) == text:
        return 0
    if "--check" in arguments:
        sys.stderr.write(f"{DOCUMENT.name} is out of date: run tools/commands.py\n")
        return 1
    DOCUMENT.write_text(refreshed(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
