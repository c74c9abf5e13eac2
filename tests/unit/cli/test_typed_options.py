"""What is typed about how to verify goes before what a task says."""

from __future__ import annotations

import pytest

from tieout.cli._support.parse_options import TypedOptions, verify_options
from tieout.errors import UsageError
from tieout.model.requests import VerifyOptions
from tieout.model.results import Strategy

TASK = VerifyOptions(strategy=Strategy.PULL, limit=5, recheck_after=9.0, exact_scale=True)


def test_nothing_typed_changes_nothing():
    assert verify_options(TypedOptions(), TASK) == TASK


def test_typed_options_replace_those_of_the_task():
    words = TypedOptions("native", "128", True, limit="7", chunk_rows=10, recheck_after=0.0, recheck_times=0)
    options = verify_options(words, TASK)
    assert options.strategy is Strategy.NATIVE
    assert (options.hash_bits, options.counts_only, options.limit, options.chunk_rows) == (128, True, 7, 10)
    assert (options.recheck_after, options.recheck_times) == (0.0, 0)
    assert options.exact_scale


def test_no_limit():
    assert verify_options(TypedOptions(limit="none"), TASK).limit is None


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", ""])
def test_a_limit_that_is_none(text: str):
    with pytest.raises(UsageError, match="--limit"):
        verify_options(TypedOptions(limit=text), TASK)


def test_what_a_resumed_job_can_not_be_given_again():
    words = TypedOptions(strategy="pull", limit="3", chunk_seconds=1.0)
    assert words.names_that_digests_depend_on == ["--strategy"]
