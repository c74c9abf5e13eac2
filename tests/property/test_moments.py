"""Dates, times of day and moments: one form for the driver's values and for text, and no two in one."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.property.values import noise
from tieout.canonical.decode import decode
from tieout.canonical.fields import ODD, PRESENT, Field
from tieout.canonical.fingerprint import fingerprints, records
from tieout.model.canonical_kinds import Form, Kind

DATE, TIMESTAMP, TIME = Kind(Form.DATE), Kind(Form.TIMESTAMP), Kind(Form.TIME)
moments = st.datetimes()
spans = st.integers(-838 * 3600 * 10**6, 838 * 3600 * 10**6)


def one(kind: Kind, value: Any, arrow_type: pa.DataType) -> Field:
    return decode(kind, pa.array([value], arrow_type))


def record(field: Field) -> bytes:
    return bytes(records([field])[0].tobytes())


def text(kind: Kind, value: str) -> Field:
    return one(kind, value, pa.string())


def spellings(moment: dt.datetime) -> st.SearchStrategy[str]:
    """Ways to write a moment that are the same moment."""
    plain = moment.isoformat(" ", "microseconds")
    written = [plain, plain.replace(" ", "T"), plain + "0", plain + "Z", plain + "+00:00", moment.isoformat(" ")]
    return st.sampled_from(written)


@given(moments.flatmap(lambda m: st.tuples(st.just(m), spellings(m))))
def test_a_moment_is_the_same_as_text_and_as_a_number(pair: tuple[dt.datetime, str]) -> None:
    moment, written = pair
    native = one(TIMESTAMP, moment, pa.timestamp("us"))
    from_text = text(TIMESTAMP, written)

    assert record(native) == record(from_text) == record(one(TIMESTAMP, written.encode(), pa.large_binary()))
    assert native.text(0) == from_text.text(0)
    assert record(text(TIMESTAMP, str(native.text(0)))) == record(native)


@given(moments, moments)
def test_two_moments_are_two(a: dt.datetime, b: dt.datetime) -> None:
    left, right = one(TIMESTAMP, a, pa.timestamp("us")), one(TIMESTAMP, b, pa.timestamp("us"))

    assert (record(left) == record(right)) == (a == b) == (left.text(0) == right.text(0))


@given(moments, st.integers(-14 * 60, 14 * 60).filter(bool))
@example(dt.datetime(2024, 1, 1), 60)
def test_an_offset_is_taken_off(moment: dt.datetime, minutes: int) -> None:
    sign, rest = "-" if minutes < 0 else "+", abs(minutes)
    written = f"{moment.isoformat(' ')}{sign}{rest // 60:02d}:{rest % 60:02d}"

    shifted = moment - dt.timedelta(minutes=minutes) if 2 < moment.year < 9998 else None
    if shifted is not None:
        assert record(text(TIMESTAMP, written)) == record(one(TIMESTAMP, shifted, pa.timestamp("us")))
    assert record(text(TIMESTAMP, written)) != record(one(TIMESTAMP, moment, pa.timestamp("us")))


@given(st.dates(), st.dates())
def test_dates(a: dt.date, b: dt.date) -> None:
    left, right = one(DATE, a, pa.date32()), text(DATE, b.isoformat())

    assert (record(left) == record(right)) == (a == b) == (left.text(0) == right.text(0))
    assert left.text(0) == a.isoformat()
    midnight = one(TIMESTAMP, a, pa.date32())
    assert record(midnight) == record(one(TIMESTAMP, dt.datetime(a.year, a.month, a.day), pa.timestamp("us")))


@given(st.times(), spans)
def test_times_of_day_and_spans(clock: dt.time, micros: int) -> None:
    native = one(TIME, clock, pa.time64("us"))
    span = one(TIME, micros, pa.int64())

    assert record(text(TIME, clock.isoformat())) == record(native)
    assert record(text(TIME, str(span.text(0)))) == record(span)
    same = micros == ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 10**6 + clock.microsecond
    assert (record(native) == record(span)) == same


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (TIMESTAMP, "2024-01-01 00:00:00.1234567"),
        (TIMESTAMP, "0000-00-00 00:00:00"),
        (TIMESTAMP, "2024-00-01 00:00:00"),
        (TIMESTAMP, "2024-02-30 00:00:00"),
        (TIMESTAMP, "2024-01-01 24:00:00"),
        (TIMESTAMP, "2024-01-01 23:59:60"),
        (TIMESTAMP, "infinity"),
        (TIMESTAMP, "9999999-01-01 00:00:00"),
        (TIMESTAMP, "２０２４-01-01 00:00:00"),
        (TIMESTAMP, "2024-01-01 １０:00:00"),
        (TIMESTAMP, "1704067200"),
        (DATE, "0000-00-00"),
        (DATE, "2024-02-30"),
        (DATE, "2024-01-01 00:00:01"),
        (DATE, "9999999-01-01"),
        (DATE, "-infinity"),
        (TIME, "10:60:00"),
        (TIME, "P1DT10H"),
        (TIME, "1 day"),
        (TIME, "10:00:00.1234567"),
    ],
)
def test_what_a_form_does_not_hold_is_odd(kind: Kind, value: str) -> None:
    """And stays itself: it is no other value, and not what it would be cut down to."""
    field = text(kind, value)

    assert field.status[0] == ODD
    assert field.text(0) == value
    assert record(field) != record(text(kind, value + "0"))


@pytest.mark.parametrize("kind", [DATE, TIMESTAMP, TIME], ids=str)
@given(data=st.data())
def test_a_moment_does_not_depend_on_the_others_in_its_batch(kind: Kind, data: st.DataObject) -> None:
    """One value out of the usual sends the whole batch the slow way."""
    usual = {
        DATE: st.dates().map(str),
        TIMESTAMP: moments.flatmap(spellings),
        TIME: st.times().map(str),
    }[kind]
    batch = data.draw(st.lists(st.none() | usual | noise | st.just("0000-00-00 00:00:00"), min_size=1, max_size=5))

    together = decode(kind, pa.array(batch, pa.string()))
    prints = fingerprints([together])

    for row, value in enumerate(batch):
        alone = text(kind, value) if value is not None else one(kind, None, pa.string())
        assert alone.text(0) == together.text(row)
        assert alone.status[0] == together.status[row]
        assert (fingerprints([alone])[0] == prints[row]).all()


def test_the_epoch_is_present() -> None:
    assert text(TIMESTAMP, "1970-01-01 00:00:00").status[0] == PRESENT
