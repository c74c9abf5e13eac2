"""Benchmarks run seldom, and no type checker reads them: what they import has to be there all the same."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from tieout import api

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "benchmarks").rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT / "benchmarks")))
def test_what_a_benchmark_imports_is_there(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("tieout", "tests"):
            module = importlib.import_module(str(node.module))
            missing = [
                alias.name for alias in node.names if not hasattr(module, alias.name) and not _is_module(node, alias)
            ]
            assert missing == [], node.module


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT / "benchmarks")))
def test_what_a_benchmark_calls_of_the_api_is_there(file: Path) -> None:
    called = {
        node.attr
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "api"
    }
    assert [name for name in sorted(called) if not hasattr(api, name)] == []


def _is_module(node: ast.ImportFrom, alias: ast.alias) -> bool:
    return importlib.util.find_spec(f"{node.module}.{alias.name}") is not None
