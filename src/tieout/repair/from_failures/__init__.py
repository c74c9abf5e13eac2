"""Repair of what a check found: indexes are rebuilt, rows mended as people have decided.

`plan_mends` reads and changes nothing. `apply_mends` looks again before each statement and copies what it removes to a
quarantine table, `undo_mends` puts it back, `mend_statements` writes the plan as SQL. No Spark.
"""

from tieout.repair.from_failures.execute import apply_mends
from tieout.repair.from_failures.plan import plan_mends
from tieout.repair.from_failures.sql_file import mend_statements
from tieout.repair.from_failures.undo import undo_mends

__all__ = ["apply_mends", "mend_statements", "plan_mends", "undo_mends"]
