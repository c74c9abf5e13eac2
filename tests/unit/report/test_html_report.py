"""The page: complete, self-contained, well formed."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from tieout.model.differences import ValuePair
from tieout.model.results import Verdict, VerificationResult
from tieout.report import OutputFormat, render
from tieout.report.html import Contrast, contrast


class Nesting(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_is_well_formed_and_tells_everything(different: VerificationResult) -> None:
    page = Nesting()
    page.feed(render(different, OutputFormat.HTML))
    assert page.open == []
    text = " ".join("".join(page.text).split())
    for told in (
        "different: 2 of 4 tables differ, 1 unverified",
        "shop.orders → public.orders",
        "a column could not be compared",
        "unverified column outline: geometry has no canonical form",
        "id=99, region='eu' (2 copies)",
        "… 4 of 20,113 differences listed (--limit)",
        "probability < 1e-31",
        "read at source bin.000002:4711",
        "the engines differ: no hash is common to both",
    ):
        assert told in text


def test_the_page_needs_nothing_from_elsewhere(different: VerificationResult) -> None:
    page = render(different, OutputFormat.HTML)
    assert not re.search(r"<(script|link|img|iframe)|\b(src|href)=|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page


def test_what_changed_is_marked(different: VerificationResult) -> None:
    page = render(different, OutputFormat.HTML)
    assert "&#39;abc<mark>␠</mark>&#39;" in page
    assert '<bdi class="null">NULL</bdi>' in page
    assert "<bdi>2025-03-01 1<mark>0</mark>:00:00</bdi>" in page


def test_an_equal_result_and_one_without_tables(equal: VerificationResult) -> None:
    assert "Differences" not in render(equal, OutputFormat.HTML)
    nothing = replace(equal, verdict=Verdict.UNVERIFIED, tables=())
    assert "No table was compared." in render(nothing, OutputFormat.HTML)


def test_values_that_look_alike_are_spelled_out() -> None:
    assert contrast(ValuePair("é", "e\u0301")) == (Contrast("'", r"\xe9", "'"), Contrast("'", r"e\u0301", "'"))


def test_a_long_value_is_cut_around_its_change() -> None:
    source, target = contrast(ValuePair("x" * 500 + "a" + "y" * 500, "x" * 500 + "b" + "y" * 500))
    assert source == Contrast("…'" + "x" * 120, "a", "y" * 120 + "'… (1,001 characters)")
    assert target.own == "b"
