"""A value that is too long to keep stays known by its beginning, its length and its hash, wherever it goes."""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pytest
import xxhash

from tieout.canonical.decode import decode
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.differences import Difference, DifferenceKind, ValuePair
from tieout.model.documents import difference_document, failure_document, failure_from
from tieout.model.failures import Failure, FailureKind
from tieout.model.truncated import BEGINNING, LONGEST_KEPT, TruncatedText, longest_of, restored, stored

LONG = "it's " * 20_000
CUT = TruncatedText("it's ", 100_000, "0f" * 16)


def test_it_reads_as_what_it_is() -> None:
    assert f"it's … (100,000 bytes, xxh3 {'0f' * 16})" == CUT
    assert TruncatedText("it's ", 100_000, "1f" * 16) != CUT


def test_it_survives_pickling_and_the_meta_store() -> None:
    for again in (pickle.loads(pickle.dumps(CUT)), restored(json.loads(json.dumps(stored(CUT))))):
        assert isinstance(again, TruncatedText)
        assert (again, again.beginning, again.length, again.hash) == (CUT, CUT.beginning, CUT.length, CUT.hash)
    assert [restored(stored(value)) for value in ("x", None, str(CUT))] == ["x", None, str(CUT)]
    assert type(restored(stored(str(CUT)))) is str


@pytest.mark.parametrize(
    ("form", "value", "beginning", "raw"),
    [
        (Form.TEXT, LONG, LONG, LONG.encode()),
        (Form.TEXT, b"\xff" * 100_000, "0x" + "ff" * 1_000, b"\xff" * 100_000),
        (Form.BYTES, b"\0\xff" * 50_000, "0x" + "00ff" * 1_000, b"\0\xff" * 50_000),
        (Form.JSON, f'{{"b": "{LONG}", "a": 1.0}}', f'{{"a":1,"b":"{LONG}', f'{{"a":1,"b":"{LONG}"}}'.encode()),
        (Form.JSON, f'{{"a": 1, "a": "{LONG}"}}', f'{{"a": 1, "a": "{LONG}', f'{{"a": 1, "a": "{LONG}"}}'.encode()),
        (Form.NUMBER, "7" * 100_000, "7" * 100_000, b"7" * 100_000),
    ],
    ids=["text", "no text", "bytes", "json", "odd json", "number"],
)
def test_of_a_long_value_the_beginning_is_kept(form: Form, value: str | bytes, beginning: str, raw: bytes) -> None:
    kept = decode(Kind(form), pa.array([value])).kept(0)
    assert isinstance(kept, TruncatedText)
    assert len(kept.beginning) > BEGINNING - 10
    assert beginning.startswith(kept.beginning)
    assert (kept.length, kept.hash) == (len(raw), xxhash.xxh3_128_hexdigest(raw))


def test_what_is_not_long_is_kept_whole() -> None:
    values = ["", None, "é" * (LONGEST_KEPT // 2)]
    field = decode(Kind(Form.TEXT), pa.array(values))
    assert [field.kept(row) for row in range(3)] == values
    raw = b"\xff" * LONGEST_KEPT
    assert decode(Kind(Form.BYTES), pa.array([raw])).kept(0) == "0x" + raw.hex()


def test_many_values_of_one_row_are_kept_shorter() -> None:
    assert [longest_of(values) for values in (1, 16, 100, 1 << 20)] == [LONGEST_KEPT, LONGEST_KEPT, 10_485, 64]
    assert longest_of(1, 64) == 64


def test_marks_are_equal_for_equal_values_alone() -> None:
    values = ['{"a":1,"b":1500}', '{"b":1.5e3,"a":1.0}', "[]", None, "no json", "no json!", "null"]
    field = decode(Kind(Form.JSON), pa.array(values))
    marks = [field.mark(row) for row in range(len(values))]
    assert marks[0] == marks[1]
    assert len(set(marks)) == len(values) - 1


def test_a_script_can_tell() -> None:
    whole = Difference("t", DifferenceKind.CHANGED, {"id": "1"}, {"v": ValuePair("a", "b")})
    assert "truncated_values" not in difference_document(whole)
    cut = Difference("t", DifferenceKind.CHANGED, {"id": "1"}, {"v": ValuePair(CUT, None), "w": ValuePair("a", "b")})
    document = json.loads(json.dumps(difference_document(cut)))
    told = {"kept": 5, "length": 100_000, "xxh3": "0f" * 16}
    assert document["truncated_values"] == {"columns": {"v": {"source": told}}}
    assert document["columns"]["v"]["source"][:5] == CUT.beginning


def test_a_failure_comes_back_as_it_was() -> None:
    failure = Failure(FailureKind.CHECK_VIOLATION, "d", "t", ("v",), primary_key={"id": CUT}, details={"v": CUT})
    document = json.loads(json.dumps(failure_document(failure)))
    again = failure_from(document)
    assert again == failure
    assert isinstance(again.details["v"], TruncatedText)
    assert set(document["truncated_values"]) == {"primary_key", "details"}
