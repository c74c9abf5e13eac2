"""Whatever a database holds, a report stays a report: it drives no terminal, breaks no parser, runs no script."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from io import StringIO
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tieout.model.differences import Difference, DifferenceCounts, DifferenceKind, ValuePair
from tieout.model.documents import verification_document
from tieout.model.results import (
    Explanation,
    SchemaFinding,
    Strategy,
    TableResult,
    UnverifiedColumn,
    Verdict,
    VerificationResult,
)
from tieout.report import OutputFormat, render
from tieout.report.csv import csv_value
from tieout.report.listing import write_lines
from tieout.report.text import report_lines

NASTY = st.sampled_from(
    [
        "\x1b[2J\x1b]0;owned\x07", "\x9b31m", "[red]bold[/red]", "[/]", "<script>alert(1)</script>", "]]>", "&amp;",
        "{{ 7*7 }}", "=cmd|' /C calc'!A0", "a\r\nb", 'say "hi"', "a,b", "\\N", "\0", "\ufffe", "\ud800", "\u2028",
        "\x85", "\u202egnp.exe", "<!--", "' onload='x", "",
    ]
)  # fmt: skip
TEXT = NASTY | st.text(st.characters(codec=None), max_size=20) | st.tuples(NASTY, NASTY).map("".join)
VALUE = st.none() | TEXT
OUR_TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "h1", "h2", "h3", "p", "div", "bdi", "mark",
    "table", "thead", "tbody", "tr", "th", "td", "ul", "li",
}  # fmt: skip


@st.composite
def results(draw: st.DrawFn) -> VerificationResult:
    def differences(table: str) -> st.SearchStrategy[Difference]:
        changed = st.builds(
            Difference,
            st.just(table),
            st.just(DifferenceKind.CHANGED),
            st.dictionaries(TEXT, VALUE, max_size=2),
            st.dictionaries(TEXT, st.builds(ValuePair, VALUE, VALUE), min_size=1, max_size=2),
        )
        missing = st.builds(
            Difference, st.just(table), st.just(DifferenceKind.MISSING), st.dictionaries(TEXT, VALUE, max_size=2)
        )
        return changed | missing

    name = draw(TEXT)
    table = TableResult(
        name,
        draw(TEXT),
        draw(st.sampled_from(Verdict)),
        reason=draw(VALUE),
        strategy=Strategy.PULL,
        differences=DifferenceCounts(1, 0, 1),
        unverified_columns=(UnverifiedColumn(draw(TEXT), draw(TEXT)),),
        schema=(SchemaFinding("type", draw(TEXT), draw(VALUE)),),
        source_position=draw(VALUE),
        collision_bound=draw(VALUE),
        explanation=Explanation(Strategy.PULL, draw(TEXT), (draw(TEXT),)),
        notes=(draw(TEXT),),
    )
    return VerificationResult(
        verdict=Verdict.DIFFERENT,
        job=draw(TEXT),
        source=draw(TEXT),
        target=draw(TEXT),
        started_at=datetime(2025, 3, 1, tzinfo=UTC),
        seconds=1.0,
        tables=(table,),
        differences=tuple(draw(st.lists(differences(name), max_size=2))),
        notes=(draw(TEXT),),
    )


modest = settings(max_examples=60, deadline=None)


@modest
@given(results(), st.sampled_from([None, 40, 80]))
def test_text_holds_nothing_that_a_terminal_obeys(result: VerificationResult, width: int | None) -> None:
    for line in report_lines(result, width, explain=True):
        assert line.plain.isprintable()
        line.plain.encode()


@modest
@given(results())
def test_a_coloured_terminal_gets_our_colours_and_no_others(result: VerificationResult) -> None:
    stream = StringIO()
    console = Console(file=stream, force_terminal=True, color_system="truecolor", soft_wrap=True, width=80)
    lines = list(report_lines(result, 80, explain=True))
    write_lines(lines, console)
    written = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert written == "".join(f"{line.plain}\n" for line in lines)


@modest
@given(results())
def test_json_round_trips_and_is_safe_to_print(result: VerificationResult) -> None:
    text = render(result, OutputFormat.JSON)
    text.encode()
    assert json.loads(text) == verification_document(result)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


@modest
@given(results())
def test_every_line_of_ndjson_is_one_document(result: VerificationResult) -> None:
    lines = [json.loads(line) for line in render(result, OutputFormat.NDJSON).splitlines()]
    assert len(lines) == 2 + len(result.differences)
    assert lines[-1]["kind"] == "verification"


@modest
@given(results())
def test_csv_reads_back_as_the_same_values(result: VerificationResult) -> None:
    text = render(result, OutputFormat.CSV)
    text.encode()
    rows = list(csv.DictReader(StringIO(text, newline="")))
    expected = [
        (difference.key, name, pair)
        for difference in result.differences
        for name, pair in (difference.columns.items() or [("", ValuePair("", ""))])
    ]
    read = [
        (
            json.loads(row["key"]),
            csv_value(row["column"]),
            ValuePair(csv_value(row["source"]), csv_value(row["target"])),
        )
        for row in rows
    ]
    assert read == [(dict(key), _encodable(name), _encodable_pair(pair)) for key, name, pair in expected]


@modest
@given(results())
def test_junit_parses(result: VerificationResult) -> None:
    root = ElementTree.fromstring(render(result, OutputFormat.JUNIT).encode())
    assert root.get("tests") in ("1", "2")
    assert root.get("failures") == "1"


@modest
@given(results())
def test_html_runs_nothing(result: VerificationResult) -> None:
    page = render(result, OutputFormat.HTML)
    page.encode()
    seen = Elements()
    seen.feed(page)
    assert seen.tags <= OUR_TAGS
    assert seen.attributes <= {
        "lang",
        "charset",
        "name",
        "content",
        "http-equiv",
        "class",
        "scope",
        "rowspan",
        "colspan",
    }
    assert "<script" not in page.lower()
    assert "<!--" not in page


class Elements(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


def _encodable(text: str | None) -> str | None:
    return None if text is None else re.sub("[\ud800-\udfff]", "\ufffd", text)


def _encodable_pair(pair: ValuePair) -> ValuePair:
    return ValuePair(_encodable(pair.source), _encodable(pair.target))
