"""The tutorial, pasted: every block runs, and prints what the tutorial says (but for ids, times and versions)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_VARYING = [
    (re.compile(r"\b[a-z]-\d{8}-\d{6}-\w{4}\b"), "ID"),
    (re.compile(r"SQLite [\d.]+"), "SQLite VERSION"),
    (re.compile(r"\b(\d+ h )?(\d+ min )?[\d.]+ s$", re.MULTILINE), "TIME"),
    (re.compile(r"(?<=pull )\s*[\d.]+$", re.MULTILINE), "SECONDS"),
    (re.compile(r" +"), " "),
]


@dataclass(frozen=True)
class Block:
    """Something to paste, and what it is said to print (None: nothing is said)."""

    script: str
    printed: str | None


def blocks(document: str) -> Iterator[Block]:
    fences = [(match["language"], match["text"]) for match in _FENCE.finditer(document)]
    for place, (language, text) in enumerate(fences):
        if language == "bash":
            after = fences[place + 1] if place + 1 < len(fences) else ("", "")
            yield Block(text, after[1] if after[0] == "text" else None)


def settled(text: str) -> str:
    """The text without what is different each time."""
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text.strip()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_block_does_what_the_tutorial_says(tmp_path: Path) -> None:
    found = list(blocks(TUTORIAL.read_text()))
    assert len(found) >= 8
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("COLUMNS", None)
    for block in found:
        done = subprocess.run(
            ["bash", "-e"],
            input=block.script,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{block.script}\n{done.stdout}\n{done.stderr}"
        if block.printed is not None:
            assert settled(done.stdout) == settled(block.printed), block.script


def test_only_known_kinds_of_blocks_are_in_it() -> None:
    """A block of a kind that the test above does not run would be untested."""
    assert {match["language"] for match in _FENCE.finditer(TUTORIAL.read_text())} == {"bash", "text"}
