"""What the code has and the reference does not tell fails here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tieout import errors
from tieout.config.field_types import Section
from tieout.config.url_parameters import PARAMETERS
from tieout.config.urls import SCHEMES
from tieout.model import differences, moves, preflight, repair, results
from tieout.model.documents import (
    control_document,
    dropped_document,
    forecast_document,
    preflight_document,
    repair_document,
    repair_plan_document,
    verification_document,
)
from tieout.model.levels import TargetLevel
from tieout.model.move_status import DroppedTask, MoveControl
from tieout.report.json import summary_document


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    path = Path(__file__).parents[3] / "tools" / "reference.py"
    spec = spec_from_file_location("reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def subclasses(root: type) -> Iterator[type]:
    for child in root.__subclasses__():
        yield child
        yield from subclasses(child)


def _error_classes() -> list[type[errors.TieoutError]]:
    known = [errors.TieoutError, *subclasses(errors.TieoutError)]
    return [each for each in known if each.__module__ == errors.__name__]


@pytest.mark.parametrize("error", _error_classes(), ids=lambda error: error.__name__)
def test_every_error_has_its_line(docs: Path, error: type[errors.TieoutError]) -> None:
    text = (docs / "reference/errors.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith(f"| `{error.code}` | `{error.__name__}` |")]
    assert len(lines) == 1, f"docs/reference/errors.md has {len(lines)} lines for {error.__name__} ({error.code})"
    cells = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert cells[3] == ("yes" if error.transient else "no")
    assert cells[4]


def test_no_two_errors_share_a_code() -> None:
    codes = [error.code for error in _error_classes()]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("name", ["configuration.md", "urls.md", "levels.md"])
def test_generated_tables_are_up_to_date(docs: Path, reference: ModuleType, name: str) -> None:
    text = (docs / "reference" / name).read_text()
    assert reference.refreshed(text) == text, "run tools/reference.py"


def test_every_section_of_the_file_is_documented(docs: Path, reference: ModuleType) -> None:
    sections = {each for each in subclasses(Section) if each.__module__.startswith("tieout.")}
    assert sections == set(reference.SECTIONS.values()), "tools/reference.py has other sections than the code"
    written = reference.block_names((docs / "reference/configuration.md").read_text())
    assert sorted(written) == sorted(f"keys of {name}" for name in reference.SECTIONS)


def test_every_key_has_a_description() -> None:
    for section in (each for each in subclasses(Section) if each.__module__.startswith("tieout.")):
        for name, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{name} has no docstring"


def test_every_kind_of_url_is_documented(docs: Path, reference: ModuleType) -> None:
    text = (docs / "reference/urls.md").read_text()
    assert sorted(reference.block_names(text)) == sorted(f"parameters of {scheme}" for scheme in PARAMETERS)
    for scheme in SCHEMES:
        assert f"`{scheme}://" in text


def test_every_json_field_is_documented(docs: Path) -> None:
    told = set(re.findall(r"`(\w+)`", (docs / "reference/json.md").read_text()))
    names = set().union(*(set(_field_names(document)) for document in _documents()))
    assert names - told == set()


def _documents() -> Iterator[dict[str, Any]]:
    """One of each, with something in every list."""
    pair = differences.ValuePair("1", None)
    changed = differences.Difference("t", differences.DifferenceKind.CHANGED, {"_key": "1"}, {"_column": pair}, 2)
    table = results.TableResult(
        "s.t",
        "s.t",
        results.Verdict.DIFFERENT,
        unverified_columns=(results.UnverifiedColumn("c", "why"),),
        schema=(results.SchemaFinding("type", "a → b", "c"),),
        notes=("a note",),
    )
    verification = results.VerificationResult(
        results.Verdict.DIFFERENT, "j", "a", "b", datetime.now(UTC), 1.0, (table,), (changed,)
    )
    yield verification_document(verification)
    yield summary_document(verification)
    guarantee = preflight.Guarantee(**dict.fromkeys(field.name for field in fields(preflight.Guarantee)))
    ahead = preflight.TableForecast(
        "s.t",
        "s.t",
        guarantee=guarantee,
        unverified_columns=table.unverified_columns,
        schema=table.schema,
    )
    facts = preflight.EndpointFacts("a", "1")
    problem = preflight.Problem(preflight.Severity.NOTE, "m", "f")
    yield forecast_document(preflight.Forecast("a", "b", (ahead,)))
    levels = tuple(TargetLevel)
    moved = preflight.MoveTableForecast("t", "t", preflight.TableState.THERE, ("id",), levels, levels[0], "all")
    move = preflight.MoveForecast(moves.Delivery.EXACTLY_ONCE, (), moves.Consistency.ROW, (), (), (moved,))
    yield preflight_document(preflight.Preflight(facts, facts, (problem,), (ahead,), move))
    yield repair_plan_document(repair.RepairSummary("p", "j", "a", "b", unrepaired=(repair.Unrepaired("t", 1, "why"),)))
    yield repair_document(repair.RepairResult("p", "j", "apply", 1, 0, 0, 0, (changed,)))
    yield control_document(MoveControl("shop", "stop", "j"))
    yield dropped_document(DroppedTask("shop"))


def _field_names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if not name.startswith("_"):
                yield name
            yield from _field_names(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _field_names(inner)
