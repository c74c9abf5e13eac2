"""Lists of jobs and the like."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO

import pytest

from tieout.errors import UsageError
from tieout.report import OutputFormat
from tieout.report.listing import Row, write_listing

COLUMNS = ("job", "state", "rows_done", "seconds", "started_at", "error")
STARTED = datetime(2025, 3, 1, 9, 30, 0, 250_000, tzinfo=UTC)
JOBS: list[Row] = [
    {"job": "01J9", "state": "running", "rows_done": 1_200_000, "seconds": 3.25, "started_at": STARTED, "secret": "x"},
    {
        "job": "01JA",
        "state": "失敗",
        "rows_done": None,
        "seconds": 12.0,
        "started_at": STARTED,
        "error": "lost\n\x1b[1m",
    },
]


def listed(format: OutputFormat, rows: list[Row] = JOBS) -> str:
    stream = StringIO()
    write_listing(COLUMNS, rows, format, stream)
    return stream.getvalue()


def test_text_is_aligned_by_what_is_seen() -> None:
    assert listed(OutputFormat.TEXT) == (
        "job   state    rows done  seconds  started at                 error\n"
        "01J9  running  1,200,000      3.2  2025-03-01 09:30:00+00:00  -\n"
        "01JA  失敗             -     12.0  2025-03-01 09:30:00+00:00  lost \\x1b[1m\n"
    )


def test_json_keeps_the_values_and_only_the_columns_asked_for() -> None:
    rows = json.loads(listed(OutputFormat.JSON))
    assert rows[0] == {
        "job": "01J9",
        "state": "running",
        "rows_done": 1_200_000,
        "seconds": 3.25,
        "started_at": "2025-03-01T09:30:00.250000+00:00",
        "error": None,
    }
    assert [json.loads(line) for line in listed(OutputFormat.NDJSON).splitlines()] == rows


def test_csv_tells_nothing_from_empty() -> None:
    assert listed(OutputFormat.CSV, JOBS[:1]) == (
        "job,state,rows_done,seconds,started_at,error\n01J9,running,1200000,3.25,2025-03-01T09:30:00.250000+00:00,\\N\n"
    )


def test_an_empty_list() -> None:
    assert listed(OutputFormat.TEXT, []) == "none\n"
    assert listed(OutputFormat.JSON, []) == "[]\n"
    assert listed(OutputFormat.NDJSON, []) == ""


def test_a_list_is_no_test_suite() -> None:
    with pytest.raises(UsageError, match="can't be written as junit"):
        listed(OutputFormat.JUNIT)
