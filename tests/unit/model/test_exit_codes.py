"""One table of exit codes, and one place that chooses between them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.model.failures import CheckVerdict
from tieout.model.results import Verdict

COMMANDS = Path(__file__).resolve().parents[3] / "docs" / "reference" / "commands.md"


def test_the_reference_lists_each_code_once():
    listed = re.findall(r"^\| (\d+) \|", COMMANDS.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(code) for code in listed] == list(ExitCode)


@pytest.mark.parametrize("verdict", [*Verdict, *CheckVerdict])
def test_every_verdict_has_a_code(verdict: str):
    assert ExitCode.of_verdict(verdict) in (ExitCode.OK, ExitCode.FOUND, ExitCode.INCOMPLETE)


def test_what_was_found_outranks_what_was_left_out():
    assert ExitCode.worst([ExitCode.OK, ExitCode.INCOMPLETE, ExitCode.FOUND]) is ExitCode.FOUND
    assert ExitCode.worst([ExitCode.OK, ExitCode.INCOMPLETE]) is ExitCode.INCOMPLETE
    assert ExitCode.worst([]) is ExitCode.OK
    assert ExitCode.of_work(failed=True, incomplete=True) is ExitCode.FAILED


def test_who_is_interrupted_has_not_failed():
    assert ExitCode.of_error(KeyboardInterrupt()) is ExitCode.INTERRUPTED
    assert ExitCode.of_error(UsageError("no")) is ExitCode.FAILED


def test_a_code_reads_as_its_number():
    assert f"{ExitCode.INCOMPLETE} {ExitCode.INCOMPLETE:d}" == "3 3"
