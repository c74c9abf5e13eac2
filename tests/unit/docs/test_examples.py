"""Every tieout.yaml in the documents can be loaded: none has a key that does not work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import pytest

from tieout.config import load

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
_YAML = re.compile(r"^```yaml\n(.*?)^```$|^cat > tieout\.yaml <<'YAML'\n(.*?)^YAML$", re.DOTALL | re.MULTILINE)


_OURS = re.compile(r"^(tasks|endpoints|tables):", re.MULTILINE)
_A_TASK = "tasks:\n  t:\n    source: sqlite:///a.db\n    target: sqlite:///b.db\n"


def examples() -> Iterator[tuple[str, str]]:
    for document in DOCUMENTS:
        blocks = (match[1] or match[2] for match in _YAML.finditer(document.read_text(encoding="utf-8")))
        for number, text in enumerate(filter(_OURS.search, blocks), 1):
            yield f"{document.relative_to(ROOT)}, {number}", text


@pytest.mark.parametrize("text", [pytest.param(text, id=place) for place, text in examples()])
def test_an_example_loads(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tieout.yaml"
    file.write_text(_A_TASK + indent(text, "    ") if text.startswith("tables:") else text, encoding="utf-8")
    load(file, environment=dict.fromkeys(re.findall(r"\$\{(\w+)", text), "x"))


def test_there_are_examples() -> None:
    documents = {place.partition(",")[0] for place, _ in examples()}
    assert {"README.md", "docs/tutorial.md", "docs/how-to/move-a-database.md"} <= documents
