"""MariaDB, by files that are edited behind its back and by sessions that are asked nothing. Triggers fire."""

from tests.corruption.mariadb.checker import own_checker
from tests.corruption.mariadb.constraints import (
    broken_view,
    invalid_json,
    no_member,
    orphaned_rows,
    sequence_behind,
    violated_check,
    wrong_generated_value,
    wrong_reference,
    zero_date,
)
from tests.corruption.mariadb.entries import (
    dangling_entry,
    delete_marked_entry,
    duplicate_entry,
    duplicate_without_entry,
    missing_entry,
    stale_entry,
    wrong_row_entry,
)
from tests.corruption.mariadb.session import unguarded
from tests.corruption.mariadb.values import redeclared_as_twin, redeclared_table

__all__ = [
    "broken_view",
    "dangling_entry",
    "delete_marked_entry",
    "duplicate_entry",
    "duplicate_without_entry",
    "invalid_json",
    "missing_entry",
    "no_member",
    "orphaned_rows",
    "own_checker",
    "redeclared_as_twin",
    "redeclared_table",
    "sequence_behind",
    "stale_entry",
    "unguarded",
    "violated_check",
    "wrong_generated_value",
    "wrong_reference",
    "wrong_row_entry",
    "zero_date",
]
