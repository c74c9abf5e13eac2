"""The help of every command, and how a command ends that raises one of our errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

from tools.golden_parts.running import every_module, run_here


def record_help() -> str:
    """Of groups, too, in the order in which they are listed; in a terminal of 100 columns without colours."""
    from typer.main import get_command

    from tieout.cli.main import app

    sections = []
    for path in _paths(get_command(app), ()):
        ended = run_here(*path, "--help")
        sections.append(f"$ {' '.join(('tieout', *path, '--help'))}\nexit {ended.code}\n{ended.out}{ended.err}")
    return "\n".join(sections)


def _paths(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from _paths(inner, (*path, name))


def record_errors() -> str:
    """The whole tree: each error's code, whether trying again can help, exit code and line of a command with it."""
    from tieout.errors import TieoutError

    every_module()  # a subclass may stand anywhere
    lines = []
    for error, depth in _tree(TieoutError, 0):
        raised = error("what is wrong", "what to do")
        lines += [
            f"{'  ' * depth}{error.__name__}",
            f"{'  ' * depth}  code {error.code}, transient {str(error.transient).lower()}, {_ending(raised)}",
        ]
    for other in (KeyboardInterrupt(), ValueError("a bug")):
        lines += [type(other).__name__, f"  {_ending(other)}"]
    return "\n".join(lines) + "\n"


def _tree(error: Any, depth: int) -> Iterator[tuple[Any, int]]:
    yield error, depth
    for inner in sorted(error.__subclasses__(), key=lambda each: str(each.__name__)):
        yield from _tree(inner, depth + 1)


def _ending(error: BaseException) -> str:
    with mock.patch("tieout.api.list_jobs", side_effect=error):
        ended = run_here("jobs", "list")
    return f"exit {ended.code}: {ended.err.strip() or ended.out.strip() or 'nothing is said'}"
