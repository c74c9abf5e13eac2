"""What users and scripts see is as it was recorded; and tools/golden says so, or where it is not."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from tools.golden_parts.normalise import Normaliser
from tools.golden_parts.statements import kind

TOOL = Path(__file__).parents[3] / "tools" / "golden"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = spec_from_loader("golden", SourceFileLoader("golden", str(TOOL)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_help_errors_api_and_meta_store_are_as_recorded() -> None:
    """The cheap parts; `make golden` compares them all. A change that is meant: tools/golden record PART."""
    ended = subprocess.run(
        [sys.executable, TOOL, "compare", "help", "errors", "api", "meta"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr


def test_a_difference_is_printed(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    golden, now = tmp_path / "golden", tmp_path / "now"
    monkeypatch.setattr(tool, "GOLDEN", golden)
    for directory, code in ((golden, "usage"), (now, "misuse")):
        directory.mkdir()
        (directory / "errors.txt").write_text(f"UsageError\n  code {code}\n")
    (now / "new.txt").write_text("more\n")
    assert tool.differs("errors", now)
    assert "-  code usage\n+  code misuse\n" in capsys.readouterr().out
    assert tool.differs("new", now), "what was never recorded is a difference"
    assert not tool.differs("errors", golden)


def test_what_varies_is_a_placeholder_and_what_means_something_stays() -> None:
    normaliser = Normaliser({"/tmp/x-17": "<dir>"})
    document = '{"seconds": 3.25, "job": "v-20261118-081322-k3f9", "file": "/tmp/x-17/a.db", "born": "1941-02-03"}'
    assert normaliser.output(document, "json").splitlines() == [
        "{",
        '  "born": "1941-02-03",',
        '  "file": "<dir>/a.db",',
        '  "job": "<v-1>",',
        '  "seconds": "<seconds>"',
        "}",
    ]
    again = normaliser.text("v-20261118-081322-k3f9 before v-20261118-081323-aaaa, at bin.000002:4711@0-1-17")
    assert again == "<v-1> before <v-2>, at <position>"
    assert normaliser.output("kind,seconds\nequal,1.5\n", "csv") == "kind,seconds\nequal,<seconds>\n"
    assert normaliser.output("error", "json") == "(this is not json)\nerror"


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("select 1", "SELECT"),
        ("/* tieout */ INSERT INTO `shop`.`orders` VALUES (1)", "INSERT INTO orders"),
        ('CREATE TABLE IF NOT EXISTS "public"."tieout_fence" (task text)', "CREATE TABLE IF NOT EXISTS tieout_fence"),
        ("SET SESSION time_zone = '+00:00'", "SET SESSION"),
        ("COMMIT", "COMMIT"),
    ],
)
def test_statements_are_counted_by_their_first_words(statement: str, told: str) -> None:
    assert kind(statement) == told
