"""CONTRIBUTING names every room, in the order in which import-linter keeps them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_contributing_has_every_room_in_order() -> None:
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][
        0
    ]
    kept = [set(re.findall(r"\w+", layer)) for layer in layers["layers"]]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| room | what it is |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.strip().splitlines()[1:]]
    written = [
        {name.removesuffix("/").removesuffix(".py") for name in re.findall(r"`([^`]+)`", cell)} for cell in cells
    ]
    assert written == [layer for layer in kept if layer != {"__main__"}]
