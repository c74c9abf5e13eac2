"""Repairs what a check found: rebuilds indexes, and repairs rows as people have decided.

`plan_check_repair` reads and changes nothing. `apply_check_repair` reads again before each statement and copies what it
removes to a quarantine table, `undo_check_repair` restores it, `check_repair_statements` writes the plan as SQL.
No Spark.
"""

from tieout.repair.from_failures.execute import apply_check_repair
from tieout.repair.from_failures.plan import plan_check_repair
from tieout.repair.from_failures.sql_file import check_repair_statements
from tieout.repair.from_failures.undo import undo_check_repair

__all__ = ["apply_check_repair", "check_repair_statements", "plan_check_repair", "undo_check_repair"]
