"""What tools/mutants makes of changes that tests notice, do not notice, or can't run with; and its list of them."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]

CODE = """
def larger(a, b):
    return a if a > b else b
"""
TESTS = """
import pytest
from tieout.errors import larger

def test_larger():
    assert larger(1, 2) == 2

def test_nothing():
    pass

def test_skipped():
    pytest.skip("not here")

@pytest.fixture
def made():
    return larger(1, 2) == 2 or 1 / 0

def test_made(made):
    pass
"""


@pytest.fixture(scope="module")
def tool() -> Iterator[ModuleType]:
    loader = SourceFileLoader("mutants", str(ROOT / "tools" / "mutants"))
    spec = spec_from_loader("mutants", loader)
    assert spec is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "mutants", module)  # dataclasses look for the module that they are in
        loader.exec_module(module)
        yield module


@pytest.fixture
def tree(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A package of one module, and its tests; makes mutants of it."""
    package = tmp_path / "src" / "tieout"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "errors.py").write_text(CODE)
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_some.py").write_text(TESTS)
    for of in (tool, tool.fails_before):
        monkeypatch.setattr(of, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "SRC", tmp_path / "src")

    def mutant(name: str, text: str, replacement: str, *tests: str) -> Any:
        return tool.Mutant(name, "errors.py", text, replacement, tuple(f"test_some.py::{test}" for test in tests))

    return mutant


@pytest.fixture
def ran(tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def run(*mutants: Any) -> tuple[int, str]:
        (tmp_path / "copies").mkdir()
        code = tool.run(mutants, tmp_path / "copies", tool.parse(["-j", "2"]))
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


def test_each_mutant_is_judged(tree: Callable[..., Any], ran: Any, tmp_path: Path) -> None:
    results = {
        tree("noticed", "a > b", "a < b", "test_nothing", "test_larger"): "killed",
        tree("not noticed", "a > b", "a < b", "test_nothing"): "SURVIVED",
        tree("a name is gone", "def larger", "def smaller", "test_larger"): "tests could not run",
        tree("no Python", "a > b", "a >", "test_larger"): "tests could not run",
        tree("a fixture fails", "a > b", "a < b", "test_made"): "tests could not run",
    }
    code, told = ran(*results)
    found = re.findall(r"^(\S.*?) +[0-9.]+ s  (.+)$", told, re.MULTILINE)
    assert found == [(result, mutant.name) for mutant, result in results.items()], told
    assert (code, "5 mutants: 1 killed, 1 SURVIVED, 3 tests could not run" in told) == (1, True), told
    assert (tmp_path / "src" / "tieout" / "errors.py").read_text() == CODE


def test_it_ends_well_if_all_are_killed(tree: Callable[..., Any], ran: Any) -> None:
    code, told = ran(tree("noticed", "a > b", "a < b", "test_larger"))
    assert (code, "1 mutants: 1 killed" in told) == (0, True), told


@pytest.mark.parametrize("test", ["test_skipped", "test_that_is_not_there"])
def test_nothing_is_proven_by_a_test_that_does_not_pass_without_a_change(
    tree: Callable[..., Any], ran: Any, test: str
) -> None:
    code, told = ran(tree("noticed", "a > b", "a < b", "test_larger", test))
    assert (code, "nothing is proven" in told, test in told) == (2, True, True), told


@pytest.mark.parametrize(
    ("text", "replacement", "problem"),
    [
        ("a", "b", "occurs 4 times in tieout/errors.py, not once"),
        ("a + b", "b", "occurs 0 times"),
        ("a > b", "a > b", "it changes nothing"),
    ],
)
def test_a_text_that_is_not_there_once_is_refused(
    tree: Callable[..., Any], text: str, replacement: str, problem: str
) -> None:
    (found,) = tree("a mutant", text, replacement, "test_larger").problems()
    assert problem in found


def test_some_are_chosen_by_name_or_pattern(tool: ModuleType) -> None:
    mutants = tool.load(tool.LIST)
    first = mutants[0]
    assert tool.choose(mutants, [], None) == mutants
    assert tool.choose(mutants, [first.name], None) == [first]
    fenced = tool.choose(mutants, [first.name], "FENCED-OFF")
    assert [each.name for each in fenced] == [first.name, "a fenced-off mover writes anyway"]
    assert tool.choose(mutants, [], "move/") != []
    with pytest.raises(SystemExit, match="there is no mutant 'nonsense'"):
        tool.choose(mutants, ["nonsense"], None)


# ---------------------------------------------------------------------------------------------------- the list


def test_every_mutant_can_be_used(tool: ModuleType) -> None:
    mutants = tool.load(tool.LIST)
    assert [(each.name, problem) for each in mutants for problem in each.problems()] == []
    assert [name for name, count in Counter(each.name for each in mutants).items() if count > 1] == []
    assert len(mutants) >= 40
    assert len({each.file.partition("/")[0] for each in mutants}) >= 12, "they are spread over the rooms"


def test_every_mutant_is_python(tool: ModuleType) -> None:
    for mutant in tool.load(tool.LIST):
        source = (tool.SRC / "tieout" / mutant.file).read_text()
        broken = source.replace(mutant.text, mutant.replacement)
        assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(source)), mutant.name


def test_every_test_that_is_named_is_in_its_file(tool: ModuleType) -> None:
    for mutant in tool.load(tool.LIST):
        for test in mutant.tests:
            file, *names = test.partition("[")[0].split("::")
            defined = {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if hasattr(node, "name")}
            assert set(names) <= defined, test
