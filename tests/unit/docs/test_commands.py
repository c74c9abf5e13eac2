"""A command or an option that is not documented fails here."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = spec_from_file_location("commands", Path(__file__).parents[3] / "tools" / "commands.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_has_its_section(docs: Path, tool: ModuleType) -> None:
    text = (docs / "reference/commands.md").read_text()
    assert sorted(tool.block_names(text)) == sorted(tool.commands())
    for name in tool.commands():
        assert f"\n## tieout {name}\n" in text


def test_the_tables_of_options_are_up_to_date(docs: Path, tool: ModuleType) -> None:
    text = (docs / "reference/commands.md").read_text()
    assert tool.refreshed(text) == text, "run tools/commands.py"


def test_every_option_is_mentioned_and_explained(docs: Path, tool: ModuleType) -> None:
    text = (docs / "reference/commands.md").read_text()
    for name, command in tool.commands().items():
        for param in command.params:
            for word in param.opts if param.param_type_name == "option" else ():
                assert f"`{word}`" in text, f"tieout {name} {word} is not documented"
            assert getattr(param, "help", None), f"tieout {name} {param.name} has no help"


def test_every_command_has_the_options_of_all(tool: ModuleType) -> None:
    for name, command in tool.commands().items():
        words = {word for param in command.params for word in param.opts}
        assert {"--output", "--config", "--quiet", "--verbose"} <= words, name
