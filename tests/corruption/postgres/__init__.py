"""PostgreSQL, by surgery on its catalog as superuser.

Whatever is inserted later may take the place that a dangling entry points at, and VACUUM then removes the entry:
where a table is corrupted in several ways, its dangling entries are made last.
"""

from tests.corruption.postgres.checker import own_checker
from tests.corruption.postgres.constraints import (
    check_never_asked,
    null_value,
    orphaned_rows,
    violated_check,
    wrong_generated_value,
    wrong_reference,
)
from tests.corruption.postgres.entries import (
    dangling_entry,
    missing_entry,
    stale_entry,
    stale_entry_of_a_chain,
    wrong_row_entry,
    wrong_stored_value,
)
from tests.corruption.postgres.indexes import (
    changed_collation,
    duplicate_entry,
    duplicate_without_entry,
    invalid_index,
    redefined_function,
    unfinished_index,
    wrong_order,
)
from tests.corruption.postgres.objects import broken_view, dropped_underneath, lost_object, sequence_behind
from tests.corruption.postgres.values import lost_chunks, lost_label, redeclared_column

__all__ = [
    "broken_view",
    "changed_collation",
    "check_never_asked",
    "dangling_entry",
    "dropped_underneath",
    "duplicate_entry",
    "duplicate_without_entry",
    "invalid_index",
    "lost_chunks",
    "lost_label",
    "lost_object",
    "missing_entry",
    "null_value",
    "orphaned_rows",
    "own_checker",
    "redeclared_column",
    "redefined_function",
    "sequence_behind",
    "stale_entry",
    "stale_entry_of_a_chain",
    "unfinished_index",
    "violated_check",
    "wrong_generated_value",
    "wrong_order",
    "wrong_reference",
    "wrong_row_entry",
    "wrong_stored_value",
]
