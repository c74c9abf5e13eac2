"""Repair: makes a target equal to its source, row by row, from what a verification found.

`plan_repair` reads and changes nothing. `apply_repair` rechecks before each change, `undo_repair` restores the old
rows, `repair_statements` writes the plan as SQL. No Spark: the rows are those that a job has listed.
"""

from tieout.repair.from_differences.execute import apply_repair, undo_repair
from tieout.repair.from_differences.plan import plan_repair
from tieout.repair.from_differences.sql_file import repair_statements

__all__ = ["apply_repair", "plan_repair", "repair_statements", "undo_repair"]
