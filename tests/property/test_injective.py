"""The canonical form is injective, and the same for the same value however it came: form by form."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.values import SORTS, Sort, Wire, json_texts, noise
from tieout.canonical.decode import decode
from tieout.canonical.documents import canonical_json
from tieout.canonical.fields import Field
from tieout.canonical.fingerprint import fingerprints, records
from tieout.canonical.numbers import plain_number
from tieout.model.canonical_kinds import Form, Kind

EVERY_FORM = [Kind(form, 2 if form is Form.DECIMAL else 0) for form in Form]


def record(*fields: Field) -> bytes:
    (only,) = records(fields)
    return bytes(only.tobytes())


def field(kind: Kind, wire: Wire) -> Field:
    value, arrow_type = wire
    return decode(kind, pa.array([value], arrow_type))


@pytest.mark.parametrize("sort", SORTS, ids=str)
@given(data=st.data())
def test_two_values_are_equal_exactly_if_their_records_are(sort: Sort, data: st.DataObject) -> None:
    one, other = data.draw(sort.values), data.draw(sort.values)
    left, right = field(sort.kind, one), field(sort.kind, other)

    same = sort.identity(one[0]) == sort.identity(other[0])
    assert (record(left) == record(right)) == same
    if left.is_exact(0) and right.is_exact(0) and not same:
        assert left.text(0) != right.text(0)


@pytest.mark.parametrize("sort", SORTS, ids=str)
@given(data=st.data())
def test_a_value_does_not_depend_on_the_others_in_its_batch(sort: Sort, data: st.DataObject) -> None:
    arrow_type, values = data.draw(st.sampled_from(sort.wires))
    batch = data.draw(st.lists(st.none() | values, min_size=1, max_size=5))

    together = decode(sort.kind, pa.array(batch, arrow_type))
    prints = fingerprints([together])

    for row, value in enumerate(batch):
        alone = field(sort.kind, (value, arrow_type))
        assert alone.text(0) == together.text(row)
        assert (fingerprints([alone])[0] == prints[row]).all()


@pytest.mark.parametrize("kind", EVERY_FORM, ids=str)
@given(text=noise)
def test_null_is_no_value(kind: Kind, text: str) -> None:
    nothing, something = field(kind, (None, pa.string())), field(kind, (text, pa.string()))

    assert nothing.text(0) is None
    assert something.text(0) is not None
    assert record(nothing) != record(something)


@pytest.mark.parametrize("kind", EVERY_FORM, ids=str)
@given(raw=st.binary(max_size=20))
def test_no_bytes_are_an_error(kind: Kind, raw: bytes) -> None:
    for arrow_type in (pa.binary(), pa.large_binary()):
        shown = field(kind, (raw, arrow_type)).text(0)
        assert shown is not None
        shown.encode()


@given(st.lists(st.none() | noise, min_size=4, max_size=4))
def test_odd_neighbours_do_not_exchange_text(texts: list[str | None]) -> None:
    """Among integers, most of this is odd."""
    sort = next(s for s in SORTS if s.kind.form is Form.INTEGER)
    a, b, c, d = (field(sort.kind, (text, pa.string())) for text in texts)
    identities = [None if text is None else sort.identity(text) for text in texts]

    assert (record(a, b) == record(c, d)) == (identities[:2] == identities[2:])


@given(st.none() | noise, st.none() | st.integers(-1, 1))
def test_columns_of_two_forms_do_not_exchange_null(text: str | None, number: int | None) -> None:
    shown = record(field(Kind(Form.TEXT), (text, pa.string())), field(Kind(Form.INTEGER), (number, pa.int64())))
    neither = record(field(Kind(Form.TEXT), (None, pa.string())), field(Kind(Form.INTEGER), (None, pa.int64())))

    assert (shown == neither) == (text is None and number is None)


@given(json_texts)
def test_canonical_json_is_a_fixed_point(text: str) -> None:
    once = canonical_json(text)

    assert once is None or canonical_json(once) == once


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1e401", "10e400"),
        ("1e401", "1" + "0" * 401),
        ("1e-401", "0." + "0" * 400 + "1"),
        ("1.0", "1"),
        ("-0.0", "0"),
        ('{"a":1,"b":2}', '{ "b": 2.0, "a": 1e0 }'),
        ('"\\u00e9"', '"é"'),
    ],
)
def test_one_json_value_has_one_form(one: str, other: str) -> None:
    assert canonical_json(one) == canonical_json(other) is not None


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', "NaN", "Infinity", "", "{", "1 2", "'a'", "[1,]", "01"])
def test_what_is_no_json_has_none(text: str) -> None:
    assert canonical_json(text) is None


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20))
def test_the_plain_form_of_a_number_is_its_value(value: Any) -> None:
    plain = plain_number(str(value))

    assert plain == plain_number(plain)
    assert type(value)(plain) == value
    assert "e" not in plain.lower()
    assert plain != "-0"
