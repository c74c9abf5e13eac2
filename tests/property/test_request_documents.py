"""A job keeps its request so that it can be run again: the same request, and no secret."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tieout.errors import UsageError
from tieout.model.documents import request_document, request_from_document
from tieout.model.requests import Meaning, Narrowing, TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import Strategy

SECRET = "mysql://user:hunter2-secret@host/db"
SHOWN = ("mysql://user:***@host/db", "sqlite:///target.db")

texts = st.text(max_size=12)
maybe = st.none() | texts
names = st.lists(texts, max_size=3).map(tuple)
positive = st.floats(0, 1e6, allow_nan=False)

tables = st.builds(
    TableRequest,
    source=texts,
    target=maybe,
    where=maybe,
    source_where=maybe,
    target_where=maybe,
    key=st.none() | names,
    columns=st.none() | names,
    exclude_columns=names,
    exclude=names,
    tolerance=st.dictionaries(texts, texts, max_size=3),
    expressions=st.dictionaries(texts, st.tuples(texts, texts), max_size=3),
)
options = st.builds(
    VerifyOptions,
    strategy=st.sampled_from([each for each in Strategy if each is not Strategy.COUNTS]),  # counts_only asks for it
    hash_bits=st.sampled_from([64, 128]),
    counts_only=st.booleans(),
    exact_scale=st.booleans(),
    limit=st.none() | st.integers(0, 10**9),
    chunk_seconds=positive,
    chunk_rows=st.none() | st.integers(1, 10**9),
    max_rows_per_second=st.none() | st.integers(1, 10**9),
    recheck_after=positive,
    recheck_times=st.integers(0, 10),
    redact_values=st.booleans(),
)
narrowings = st.builds(
    Narrowing,
    tables=names,
    exclude=names,
    source_where=maybe,
    target_where=maybe,
    key=st.none() | names,
    columns=st.none() | names,
    exclude_columns=names,
    tolerance=st.dictionaries(texts, texts, max_size=3),
    expressions=st.dictionaries(texts, st.tuples(texts, texts), max_size=3),
)
requests = st.builds(
    VerifyRequest,
    source=st.just(SECRET),
    target=st.just(SECRET),
    tables=st.lists(tables, max_size=3).map(tuple),
    options=options,
    task=maybe,
    meaning=st.sampled_from(Meaning),
    narrowing=narrowings,
)


@given(requests)
def test_a_request_comes_back_from_json_as_it_was(request: VerifyRequest) -> None:
    document = request_document(request, SHOWN)
    kept = json.dumps(document)
    assert "hunter2" not in kept
    assert request_from_document(json.loads(kept), request.source, request.target) == request


def test_every_field_is_drawn() -> None:
    """A field that is added to a request is added here, or its round trip is not shown."""
    drawn_of = {TableRequest: tables, VerifyOptions: options, Narrowing: narrowings, VerifyRequest: requests}
    for of, strategy in drawn_of.items():
        drawn = strategy.wrapped_strategy.kwargs.keys()  # type: ignore[attr-defined]
        assert drawn == {field.name for field in fields(of)}


def test_what_an_older_program_kept_is_read_and_what_a_newer_one_kept_is_refused() -> None:
    assert request_from_document({"tables": [{"source": "t"}]}, "a", "b") == VerifyRequest(
        "a", "b", (TableRequest("t"),)
    )
    with pytest.raises(UsageError, match="'sampling' that this version does not know"):
        request_from_document({"options": {"sampling": 0.1}}, "a", "b")
