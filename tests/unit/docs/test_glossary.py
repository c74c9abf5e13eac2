"""The words that the glossary replaced, and sentences that nobody would write, stay out of the documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *ROOT.glob("docs/**/*.md")])

_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\| (?P<word>[^|]+) \|[^|]+\| (?P<replaced>[^|]+) \|$", re.MULTILINE)

DIALECT = (
    r"(is|are|was|were) (told|said)",
    r"so many-th",
    r"a dear case",
    r"is no (key|row|table|column|index|text|number|position|choice|statement|constraint)",
)
"""Sentences without an actor, and negated nouns."""

NOT_YET_REWRITTEN = {
    "docs/reference/commands.md",
    "docs/reference/configuration.md",
}
"""Pages that still have some of them. A page that has none any more leaves this list."""


def replaced_words() -> Iterator[tuple[str, str]]:
    """Each replaced word of the glossary with the word to use."""
    for row in _ROW.finditer(GLOSSARY.read_text(encoding="utf-8")):
        if row["word"].strip() not in ("word", "---"):
            for word in row["replaced"].split(","):
                yield word.strip(), row["word"].strip()


def pattern(word: str) -> re.Pattern[str]:
    """The word in all its usual endings."""
    return re.compile(rf"(?<![\w`.])(?:{word})(?:e?s|e?d|ing)?(?!\w)", re.IGNORECASE)


def prose_of(document: Path) -> str:
    return _CODE.sub("", document.read_text(encoding="utf-8"))


def found_in(texts: dict[str, str]) -> list[str]:
    """Where a replaced word or a sentence of the old dialect stands."""
    words = {**{pattern(word): say for word, say in replaced_words()}, **{pattern(each): "" for each in DIALECT}}
    found = []
    for name, text in texts.items():
        for each, say in words.items():
            for hit in each.finditer(text):
                line = text[text.rfind("\n", 0, hit.start()) + 1 :].partition("\n")[0].strip()
                found.append(f"{name}: “{hit[0]}”{f', say “{say}”' if say else ''}: {line[:100]}")
    return found


def test_the_glossary_names_words_to_replace() -> None:
    words = dict(replaced_words())
    assert words["mismatch"] == "difference"
    assert len(words) >= 20


@pytest.mark.parametrize("text", ["The mover is told so.", "two mismatches", "It is no key.", "a row that was mended"])
def test_the_guard_finds_what_it_looks_for(text: str) -> None:
    assert found_in({"a.md": text})


def test_documents_use_the_words_of_the_glossary() -> None:
    texts = {str(path.relative_to(ROOT)): prose_of(path) for path in DOCUMENTS if path != GLOSSARY}
    rest = {name: texts.pop(name) for name in NOT_YET_REWRITTEN}
    assert found_in(texts) == []
    assert [name for name, text in rest.items() if not found_in({name: text})] == [], "take these off the list"
