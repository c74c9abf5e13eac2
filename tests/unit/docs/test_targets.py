"""What the documents say of `make` is what the Makefile does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_target_is_there(page: str) -> None:
    code = "\n".join(_CODE.findall((ROOT / page).read_text(encoding="utf-8")))
    named = set(re.findall(r"(?:^|[`$ ])make ([a-z-]+)", code, re.MULTILINE))
    assert {"test", "test-faults"} <= named
    assert named - set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)) == set()


def test_the_readme_says_what_make_test_leaves_out() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = readme.partition("`make test` leaves what takes long to `make test-faults`")[2].partition("\n## ")[0]
    recipe = MAKEFILE.partition("\ntest-faults:")[2].partition("\n\n")[0]
    words = {
        "tests/faults/moving": "movers that are killed",
        "tests/integration/moving/test_races.py": "change while they are copied",
        "tests/integration/corruption": "corrupt a database",
        "tests/integration/checking/test_while_writing.py": "while others write",
        "tests/integration/checking/test_changed.py": "`CHECK … CHANGED`",
        "tests/integration/checking/test_changed_while_writing.py": "while others write",
        "tests": "more cases of slow tests",
    }
    assert set(re.findall(r" (tests\S*)", recipe)) == set(words), "the README's list is of other tests"
    assert [text for text in words.values() if text not in told] == []
