"""What tools/fails-before makes of tests that pass, fail, or name what the old code lacks."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

TESTS = """
import pytest

def test_fails():
    assert 1 == 2

def test_passes():
    pass

def test_imports():
    from tieout.errors import NotYetThere

def test_names():
    import tieout.errors
    tieout.errors.not_yet_there()

def test_passes_on():
    (lambda there: None)(not_yet_there=1)

@pytest.fixture
def broken():
    raise RuntimeError

def test_is_set_up(broken):
    pass

class TestGroup:
    @pytest.mark.parametrize("number", [1, 2])
    def test_is_one(self, number):
        assert number == 1

def test_skipped():
    pytest.skip("not here")
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = Path(__file__).parents[3] / "tools" / "fails-before"
    spec = spec_from_loader("fails_before", SourceFileLoader("fails_before", str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_judges_each_test(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_new.py").write_text("from tieout.not_yet_there import anything\n\ndef test_it(): pass\n")
    ended = tool.run(Path(tool.ROOT / "src"), tmp_path / "report.xml", [f"--rootdir={tmp_path}", str(tmp_path)])
    outcomes = {name: outcome for name, outcome, _ in tool.read(tmp_path / "report.xml")}
    assert outcomes == {
        "test_new.py": tool.IMPORT,
        "test_some.py::test_fails": tool.GOOD,
        "test_some.py::test_passes": tool.PASSED,
        "test_some.py::test_imports": tool.IMPORT,
        "test_some.py::test_names": tool.IMPORT,
        "test_some.py::test_passes_on": tool.IMPORT,
        "test_some.py::test_is_set_up": tool.SETUP,
        "test_some.py::TestGroup::test_is_one[1]": tool.PASSED,
        "test_some.py::TestGroup::test_is_one[2]": tool.GOOD,
        "test_some.py::test_skipped": tool.NOT_RUN,
    }, ended.stdout


def test_is_told_what_to_do(tool: ModuleType) -> None:
    ended = subprocess.run([sys.executable, tool.__file__], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "tools/fails-before COMMIT TEST" in ended.stderr
