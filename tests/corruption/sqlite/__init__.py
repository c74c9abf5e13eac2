"""SQLite, by surgery on its schema."""

from tests.corruption.sqlite.checker import own_checker
from tests.corruption.sqlite.constraints import (
    broken_view,
    null_value,
    orphaned_rows,
    sequence_behind,
    violated_check,
    wrong_generated_value,
    wrong_reference,
    wrong_type,
)
from tests.corruption.sqlite.entries import (
    dangling_entry,
    duplicate_entry,
    duplicate_without_entry,
    missing_entry,
    redeclared,
    stale_entry,
    wrong_row_entry,
)
from tests.corruption.sqlite.values import lost_pages

__all__ = [
    "broken_view",
    "dangling_entry",
    "duplicate_entry",
    "duplicate_without_entry",
    "lost_pages",
    "missing_entry",
    "null_value",
    "orphaned_rows",
    "own_checker",
    "redeclared",
    "sequence_behind",
    "stale_entry",
    "violated_check",
    "wrong_generated_value",
    "wrong_reference",
    "wrong_row_entry",
    "wrong_type",
]
