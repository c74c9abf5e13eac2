"""Links between the documents lead somewhere, and nothing of the machine they were written on is in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = _HEADING.findall(_FENCED.sub("", document.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for link in _LINK.findall(_FENCED.sub("", document.read_text())):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: there is no such heading"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_of_a_machine_is_in_them(document: Path) -> None:
    assert not re.search(r"/(?:home|root|work|tmp)/", document.read_text())


def test_every_document_can_be_found() -> None:
    """Each is linked from the README, or from a document that is."""
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        document = todo.pop()
        if document in seen or document.suffix != ".md":
            continue
        seen.add(document)
        links = (link.partition("#")[0] for link in _LINK.findall(document.read_text()) if "://" not in link)
        todo += [(document.parent / name).resolve() for name in links if name]
    assert [path for path in DOCUMENTS if path not in seen] == []
