"""Numbers that the documents tell in their own words are those of the code."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tieout.meta.ownership import HEARTBEAT_SECONDS, STALE_AFTER
from tieout.model import defaults
from tieout.model.truncated import BEGINNING, LONGEST_KEPT
from tieout.repair.from_differences.execute import BATCH
from tieout.report.junit import FIRST_DIFFERENCES
from tieout.report.progress import LineProgress
from tieout.runtime.ranges import LARGEST_CHUNK, ROOM, SMALLEST_CHUNK
from tieout.verification.localise import KEPT_BYTES, LEAF_ROWS
from tieout.verification.row_stage import KEPT_PER_RANGE

AFTER, TIMES = f"{defaults.RECHECK_AFTER:g}", defaults.RECHECK_TIMES
LINES = inspect.signature(LineProgress).parameters["interval"].default
MINUTE = STALE_AFTER.total_seconds() / 60

TOLD = [
    ("explanation/how-verification-works.md", f"The first ranges have {defaults.FIRST_CHUNK_ROWS:,} rows"),
    ("explanation/how-verification-works.md", f"between\n{SMALLEST_CHUNK:,} and {LARGEST_CHUNK:,} rows"),
    ("explanation/how-verification-works.md", f"one small key range (up to {LEAF_ROWS:,} rows or {ROOM >> 20} MB)"),
    ("explanation/how-verification-works.md", f"each range passes at most {KEPT_PER_RANGE:,}"),
    ("explanation/how-verification-works.md", f"a heartbeat every {HEARTBEAT_SECONDS} seconds"),
    ("explanation/how-verification-works.md", f"silent for {'a minute' if MINUTE == 1 else f'{MINUTE} minutes'}"),
    ("explanation/how-verification-works.md", f"`--recheck-after` ({AFTER} s)"),
    ("explanation/how-verification-works.md", f"`--recheck-times` ({TIMES})"),
    ("explanation/how-moving-works.md", f"chunks of about {defaults.COPY_CHUNK_ROWS:,} rows"),
    ("how-to/verify-while-writes-go-on.md", f"Tieout waits {AFTER} seconds"),
    ("how-to/verify-while-writes-go-on.md", f"up to {TIMES} times"),
    ("how-to/check-a-database.md", f"another's lock for {defaults.CHECK_LOCK_SECONDS} seconds"),
    ("how-to/check-a-database.md", f"for a statement for {defaults.CHECK_STATEMENT_SECONDS // 60} minutes"),
    ("how-to/ci.md", f"a line every {LINES:g} seconds"),
    ("how-to/repair.md", f"transactions of {BATCH} rows"),
    ("reference/json.md", f"its first {FIRST_DIFFERENCES} differences"),
    ("reference/json.md", f"a value of more than {LONGEST_KEPT:,} bytes"),
    ("reference/json.md", f"it keeps {BEGINNING:,} characters"),
    ("reference/json.md", f"exceed {KEPT_BYTES >> 20} MB"),
]


@pytest.mark.parametrize(("page", "words"), TOLD)
def test_a_number_is_that_of_the_code(docs: Path, page: str, words: str) -> None:
    assert words in (docs / page).read_text(encoding="utf-8")
