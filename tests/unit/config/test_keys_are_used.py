"""A key of tieout.yaml is there because something acts on it."""

from __future__ import annotations

import ast
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import tieout
from tieout.config.endpoint_settings import EndpointSettings
from tieout.config.field_types import Section
from tieout.config.settings import Settings, SparkSettings
from tieout.config.task_settings import ColumnExpression, MoveSettings, OptionSettings, TableSettings, TaskSettings
from tieout.model.requests import MoveOptions, MoveRequest, TableRequest, VerifyOptions, VerifyRequest

SOURCE = Path(tieout.__file__).parent
SECTIONS = (Settings, SparkSettings, EndpointSettings, TaskSettings, TableSettings, ColumnExpression)
REQUESTS = (VerifyRequest, MoveRequest, TableRequest, VerifyOptions, MoveOptions)
FLOWS = ("api", "tasks", "runtime", "verification", "move", "repair", "checks", "spark", "connectors")


@cache
def _read(*folders: str) -> set[str]:
    """The names of attributes that code in these folders reads."""
    files = (file for folder in folders for file in (SOURCE / folder).rglob("*.py"))
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {node.attr for node in nodes if isinstance(node.ctx, ast.Load)}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.__name__)
def test_every_key_is_read(section: type[Section]) -> None:
    assert set(section.model_fields) - _read(".") == set()


def test_sections_of_options_are_passed_on_whole() -> None:
    assert set(MoveSettings.model_fields) == {field.name for field in fields(MoveOptions)}
    # Beside it is what the top of the file says for all tasks.
    assert {*OptionSettings.model_fields, "redact_values"} == {field.name for field in fields(VerifyOptions)}


@pytest.mark.parametrize("request_type", REQUESTS, ids=lambda each: each.__name__)
def test_what_is_passed_on_is_acted_on(request_type: type) -> None:
    acted_on = _read(*FLOWS)
    assert {field.name for field in fields(request_type)} - acted_on == set()
