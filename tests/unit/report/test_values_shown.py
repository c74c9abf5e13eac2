"""Values as they are shown: nothing invisible stays so, and no two values that differ look the same."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tieout.model.differences import ValuePair
from tieout.model.truncated import TruncatedText
from tieout.report.html import contrast
from tieout.report.values import PairText, first_difference, pair_text, value_text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "NULL"),
        ("NULL", "'NULL'"),
        ("", "''"),
        ("-12.50", "-12.50"),
        ("1e-9", "1e-9"),
        ("2025-03-01 10:00:00.5", "2025-03-01 10:00:00.5"),
        ("true", "true"),
        ("shipped", "'shipped'"),
        ("it's", r"'it\'s'"),
        ("back\\slash", r"'back\\slash'"),
        ("abc ", "'abc␠'"),
        ("  a b ", "'␠␠a b␠'"),
        ("   ", "'␠␠␠'"),
        ("a␠", r"'a\u2420'"),
        ("a\tb\r\n", r"'a\tb\r\n'"),
        ("\x1b[31mred", r"'\x1b[31mred'"),
        ("\x9b31m", r"'\x9b31m'"),
        ("no\xa0break", r"'no\xa0break'"),
        ("zero\u200bwidth", r"'zero\u200bwidth'"),
        ("turned\u202e", r"'turned\u202e'"),
        ("\ud800", r"'\ud800'"),
        ("\U000e0041", r"'\U000e0041'"),
        ("\u0301a", r"'\u0301a'"),
        ("日本語", "'日本語'"),
        ("[red]x[/red]", "'[red]x[/red]'"),
        ("12 ", "'12␠'"),
        ("１２", "'１２'"),
    ],
)
def test_a_value(value: str | None, shown: str) -> None:
    assert value_text(value) == shown


def test_a_long_value_is_cut_in_the_middle() -> None:
    assert value_text("a" * 50 + "b" * 50, room=10) == "'aaaaa'…'bbbbb' (100 characters)"


def test_a_long_number_is_not_taken_for_a_short_one() -> None:
    assert value_text("1" * 1000, room=8) == "'1111'…'1111' (1,000 characters)"


@pytest.mark.parametrize(
    ("source", "target", "shown"),
    [
        ("10", None, "10 → NULL"),
        ("é", "e\u0301", r"'\xe9' → 'e\u0301'"),
        ("Ａ", "A", r"'\uff21' → 'A'"),
        ("x" * 30 + "a", "x" * 30 + "b", "…'xxxxa' (31 characters) → …'xxxxb' (31 characters), "
                                          "first difference at character 31"),
        ("abc", "a" + "z" * 99, "'abc' → 'azzzzzzzzzzz'… (100 characters)"),
        ("\x01" * 20 + "a", "\x01" * 20 + "b", r"…'\x01a' (21 characters) → …'\x01b' (21 characters), "
                                                "first difference at character 21"),
        ("日本語日本語日本語é", "日本語日本語日本語e\u0301", r"…'\xe9' (10 characters) → …'e\u0301' (11 characters), "
                                                             "first difference at character 10"),
    ],
)  # fmt: skip
def test_a_pair(source: str | None, target: str | None, shown: str) -> None:
    assert str(pair_text(ValuePair(source, target), room=12)) == shown


ANY_TEXT = st.text(st.characters(codec=None), max_size=30)


@given(ANY_TEXT, ANY_TEXT)
def test_values_that_differ_are_shown_differently(one: str, other: str) -> None:
    assume(one != other)
    assert value_text(one, room=400) != value_text(other, room=400)
    pair = pair_text(ValuePair(one, other))
    assert pair.source != pair.target


@given(ANY_TEXT, ANY_TEXT, st.integers(3, 40))
@example("\x1f00", "\x1e00", 3)
def test_what_differs_is_in_the_window(one: str, other: str, room: int) -> None:
    common = "common " * 20
    assume(one != other)
    pair = pair_text(ValuePair(common + one, common + other), room)
    assert pair.source != pair.target


@given(ANY_TEXT, ANY_TEXT)
def test_the_first_difference(one: str, other: str) -> None:
    index = first_difference(one, other)
    assert one[:index] == other[:index]
    assert index == min(len(one), len(other)) or one[index] != other[index]


def test_of_a_truncated_value_length_and_hash_are_shown() -> None:
    """Its beginning alone may be that of the other side's value."""
    one, other = (TruncatedText("same " * 200, 67_108_864, digits * 16) for digits in ("0f", "1f"))
    pair = pair_text(ValuePair(one, other), room=20)
    assert pair.source == f"'same same same same␠'… (67,108,864 bytes, xxh3 {'0f' * 16})".replace("␠", " ")
    assert pair.source != pair.target
    assert pair.where == "the first 1,000 characters are the same"
    assert pair_text(ValuePair(one, "sane")).where == "the first 2 characters are the same"
    assert pair_text(ValuePair(None, one)) == PairText("NULL", value_text(one))
    left, right = contrast(ValuePair(one, other))
    assert left.own != right.own
