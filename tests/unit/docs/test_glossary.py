"""The words that the glossary replaced, and sentences that nobody would write, stay out of documents and code.

Three scopes: the prose of the documents, the messages of the code (every text with a blank in it), and its docstrings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "tieout"
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *ROOT.glob("docs/**/*.md")])

_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
_NAMES = re.compile(r"`[^`\n]+`")
_SQL = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|SET|EXPLAIN|REINDEX|CHECK) ")
_ROW = re.compile(r"^\| (?P<word>[^|]+) \|[^|]+\| (?P<replaced>[^|]+) \|$", re.MULTILINE)

DIALECT = (
    r"told(?! apart)",
    r"(is|are|was|were) said",
    r"so many (?!that)\w+",
    r"a dear case",
    r"anew",
    r"(?<!there )(is|are) no (?!longer|more|less|better|worse)\w+",
    r"not as (it|they) (was|were)",
    r"(a|every|another|second|last) look",
    r"of (which|whom) (nothing|nobody)",
    r"has its say",
)
"""Sentences without an actor, negated nouns, and what only this project said."""

FRAGMENTS = (r"\A(Of|Those|Who|Whoever) ",)
"""Docstrings that are no sentence and do not begin with what they describe."""


class Allowed(NamedTuple):
    """A phrase that stays in some files, because it means something else there."""

    files: str
    phrase: str
    reason: str


ALLOWED: tuple[Allowed, ...] = ()

NOT_YET_REWRITTEN: set[str] = set()
"""Pages that still have some of them. A page that has none any more leaves this list."""

ROOMS_NOT_YET_REWRITTEN: dict[str, int] = {}
"""How many of them the texts of a room still have. A number only ever shrinks."""


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


def texts_of(file: Path) -> Iterator[tuple[str, str, str]]:
    """Scope (`docstrings` or `messages`), place and text of each text in a file of the code, without names and SQL."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            scope = "docstrings" if id(node) in docstrings else "messages"
            if scope == "docstrings" or not _SQL.match(node.value):
                yield scope, f"{file.relative_to(SOURCE)}:{node.lineno}", _NAMES.sub("", node.value)


def found_in(texts: Mapping[str, str], more: tuple[str, ...] = ()) -> list[str]:
    """Where a replaced word or a sentence of the old dialect stands."""
    words = {pattern(word): say for word, say in replaced_words()}
    words |= {pattern(each): "" for each in DIALECT} | {re.compile(each): "" for each in more}
    found = []
    for name, text in texts.items():
        for each, say in words.items():
            for hit in each.finditer(text):
                if not is_allowed(name, hit[0]):
                    line = text[text.rfind("\n", 0, hit.start()) + 1 :].partition("\n")[0].strip()
                    found.append(f"{name}: “{hit[0]}”{f', say “{say}”' if say else ''}: {line[:100]}")
    return found


def is_allowed(name: str, phrase: str) -> bool:
    return any(
        fnmatchcase(name.partition(":")[0], each.files) and re.search(each.phrase, phrase, re.IGNORECASE)
        for each in ALLOWED
    )


def room_of(place: str) -> str:
    """`connectors/mysql`, `checks`, or the file at the top."""
    parts = place.partition(":")[0].split("/")
    return "/".join(parts[: 2 if parts[0] == "connectors" and len(parts) > 2 else 1])


def found_in_code() -> dict[str, list[str]]:
    """What stands in the texts of each room, by room and scope: `checks, docstrings`."""
    found: dict[str, list[str]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        for scope, place, text in texts_of(file):
            for hit in found_in({place: text}, FRAGMENTS if scope == "docstrings" else ()):
                found.setdefault(f"{room_of(place)}, {scope}", []).append(hit)
    return found


def test_the_glossary_names_words_to_replace() -> None:
    words = dict(replaced_words())
    assert words["mismatch"] == "difference"
    assert len(words) >= 20


@pytest.mark.parametrize(
    "text",
    ["The mover is told so.", "two mismatches", "It is no key.", "a row that was mended", "Every so many rows."],
)
def test_the_guard_finds_what_it_looks_for(text: str) -> None:
    assert found_in({"a.md": text})


def test_the_guard_reads_messages_and_docstrings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_text('"""Of a file."""\nNAME = "one_word"\nraise ValueError(f"no {NAME} row")\n"SELECT a row"\n')
    monkeypatch.setattr(f"{__name__}.SOURCE", tmp_path)
    assert [(scope, text) for scope, _, text in texts_of(file)] == [
        ("docstrings", "Of a file."),
        ("docstrings", "SELECT a row"),
        ("messages", "no "),
        ("messages", " row"),
    ]


def test_documents_use_the_words_of_the_glossary() -> None:
    texts = {str(path.relative_to(ROOT)): prose_of(path) for path in DOCUMENTS if path != GLOSSARY}
    assert found_in({name: text for name, text in texts.items() if name not in NOT_YET_REWRITTEN}) == []


def test_the_code_uses_the_words_of_the_glossary() -> None:
    more = {where: hits for where, hits in found_in_code().items() if len(hits) > ROOMS_NOT_YET_REWRITTEN.get(where, 0)}
    assert more == {}, "rewrite these"


def test_what_is_allowed_is_still_there() -> None:
    texts = {place: text for file in SOURCE.rglob("*.py") for _, place, text in texts_of(file)}
    texts |= {str(path.relative_to(ROOT)): prose_of(path) for path in DOCUMENTS}
    unused = [
        each
        for each in ALLOWED
        if not any(
            fnmatchcase(place.partition(":")[0], each.files) and re.search(each.phrase, text, re.IGNORECASE)
            for place, text in texts.items()
        )
    ]
    assert unused == [], "take these off the list"
