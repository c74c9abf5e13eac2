"""What a person reads: exact text, so that a change of words is a decision."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import pytest

from tieout.model.results import Verdict, VerificationResult
from tieout.report import OutputFormat, render
from tieout.report.text import report_lines, write

PIPED = """\
different: 2 of 4 tables differ, 1 unverified
mysql://app:***@db1/shop → postgresql://app:***@db2/shop

table                            verdict     source rows  target rows  missing  extra  changed  strategy  seconds
shop.orders → public.orders      different     2,000,000    2,000,001        1      2   20,110  pull         61.0
shop.customers                   equal               300          300        0      0        0  pushdown      0.8
shop.shapes → public.shapes      unverified           17           17        0      0        0  pull          0.5
shop.audit (only on the source)  different             -            -        -      -        -  -             0.0

shop.orders → public.orders: different, 1 missing, 2 extra, 20,110 changed
  schema, type of price: decimal(10,2) on the source, numeric(12,2) on the target (for information)
  read at source bin.000002:4711
shop.shapes → public.shapes: unverified, a column could not be compared
  unverified column outline: geometry has no canonical form
shop.audit (only on the source): different, the target has no such table

differences in shop.orders
  missing  id=1234567
  extra    id=99, region='eu' (2 copies)
  changed  id=17  qty: 10 → 99
  changed  id=18
           note: NULL → 'NULL'
           name: 'abc␠' → 'abc'
           body: …'og. The quick brown fox jumps over the lazy dog. The quick b'… (1,350 characters) → \
…'og. The quick brown cat jumps over the lazy dog. The quick b'… (1,350 characters), \
first difference at character 872
           due: 2025-03-01 10:00:00 → 2025-03-01 11:00:00
… 4 of 20,113 differences listed (--limit)

note: 2 tables of the target are not on the source: they were not asked for

job 01J9ZK3V; two different tables would pass with probability < 1e-31; 1 min 12 s
"""

NARROW = """\
  verdict        source     target  missing  extra  changed  strategy  seconds
shop.orders → public.orders
  different   2,000,000  2,000,001        1      2   20,110  pull         61.0
shop.customers
  equal             300        300        0      0        0  pushdown      0.8
"""

NARROW_VALUES = """\
           body: …'quick brown fox jumps over the lazy '… (1,350 characters)
               → …'quick brown cat jumps over the lazy '… (1,350 characters)
                 first difference at character 872
"""

EQUAL = """\
equal: 1 table, 300 rows
sqlite:///a.db → sqlite:///b.db

table           verdict  source rows  target rows  missing  extra  changed  strategy  seconds
shop.customers  equal            300          300        0      0        0  pushdown      0.8

job 01J9ZK3W; two different tables would pass with probability < 1e-33; 0.8 s
"""


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_everything_at_once(different: VerificationResult) -> None:
    assert render(different, OutputFormat.TEXT) == PIPED


def test_equal_is_short(equal: VerificationResult) -> None:
    assert render(equal, OutputFormat.TEXT) == EQUAL


def test_a_pipe_is_never_wrapped_or_coloured(different: VerificationResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert render(different, OutputFormat.TEXT) == PIPED


def test_a_narrow_terminal_gives_names_their_own_lines(different: VerificationResult) -> None:
    text = "".join(f"{line.plain}\n" for line in report_lines(different, 80))
    assert NARROW in text
    assert NARROW_VALUES in text


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_tables_and_changed_columns_fit_the_width(different: VerificationResult, width: int) -> None:
    wide = [line.plain for line in report_lines(different, width) if line.cell_len > width]
    sentences = ("  schema, ", "job ")  # a terminal wraps them, and no column is lost
    assert all(line.startswith(sentences) for line in wide), wide


def test_a_terminal_gets_colours_unless_it_wants_none(
    different: VerificationResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = Terminal()
    write(different, coloured)
    assert "\x1b[1;31mdifferent" in coloured.getvalue()

    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    write(different, plain)
    assert "31m" not in plain.getvalue()


def test_a_terminal_wraps_by_itself(different: VerificationResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    write(different, stream)
    written = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert written == "".join(f"{line.plain}\n" for line in report_lines(different, 60))


def test_explanations_are_told_when_asked_for(different: VerificationResult) -> None:
    told = render(different, OutputFormat.TEXT, explain=True)
    assert (
        "\nshop.orders → public.orders: strategy pull, alignment key ranges\n"
        "  - the engines differ: no hash is common to both\n\n" in told
    )
    assert "alignment" not in render(different, OutputFormat.TEXT)


def test_one_table_differs_in_the_singular(different: VerificationResult) -> None:
    one = replace(different, tables=different.tables[:2])
    assert _first_line(one) == "different: 1 of 2 tables differs"


def test_unverified_says_that_nothing_different_was_found(different: VerificationResult) -> None:
    result = replace(different, verdict=Verdict.UNVERIFIED, tables=different.tables[1:3])
    assert _first_line(result) == "unverified: 1 of 2 tables could not be verified, no difference found"


def test_counts_only_says_so(equal: VerificationResult) -> None:
    assert _first_line(replace(equal, counts_only=True)) == "equal: 1 table, 300 rows (row counts only)"


def test_nothing_compared_is_said_in_the_first_line(equal: VerificationResult) -> None:
    result = replace(equal, verdict=Verdict.UNVERIFIED, tables=())
    assert render(result, OutputFormat.TEXT) == (
        "unverified: no table was compared\nsqlite:///a.db → sqlite:///b.db\n\njob 01J9ZK3W; 0.8 s\n"
    )


def test_a_cut_list_without_a_total_still_says_that_there_is_more(different: VerificationResult) -> None:
    result = replace(different, tables=different.tables[1:])
    assert "… 4 differences listed, there are more (--limit)\n" in render(result, OutputFormat.TEXT)


def test_the_weakest_table_bounds_the_whole(different: VerificationResult) -> None:
    weak = replace(different.tables[1], collision_bound="3.0e-12")
    result = replace(different, tables=(*different.tables, weak))
    assert "probability < 3.0e-12;" in render(result, OutputFormat.TEXT)


def _first_line(result: VerificationResult) -> str:
    return render(result, OutputFormat.TEXT).split("\n")[0]
