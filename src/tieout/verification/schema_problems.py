"""What the plan of a table says about its verification: gaps, differences and weak spots, with what to do."""

from __future__ import annotations

from collections.abc import Iterator

from tieout.model.forecast import Problem, Severity
from tieout.model.results import SchemaFinding, Strategy
from tieout.model.tables import Table
from tieout.verification.plan import TablePlan
from tieout.verification.planning import PlannedTable


def table_problems(table: PlannedTable) -> Iterator[Problem]:
    name = str(table.pair.source or table.pair.target)
    if table.pair.source is None or table.pair.target is None:
        side = "target" if table.pair.source is None else "source"
        fix = "create it on the other side, or leave it out with --exclude"
        yield Problem(Severity.DIFFERENT, f"the table is only on the {side}", fix, table=name)
    if table.failure is not None:
        yield Problem(Severity.UNVERIFIED, table.failure, None, table=name)
    if table.comparison is not None:
        yield from (_of_schema(name, finding) for finding in table.comparison.findings)
        for column in table.comparison.unverified:
            fix = f"give --expr '{column.column}=…|…', or leave it out with --exclude-columns {column.column}"
            yield Problem(Severity.UNVERIFIED, f"column {column.column}: {column.reason}", fix, table=name)
    if table.plan is not None:
        yield from _of_plan(name, table.plan, asked_key=table.pair.request.key)


def _of_schema(table: str, finding: SchemaFinding) -> Problem:
    words = f"{finding.aspect} of {finding.column}" if finding.column and finding.aspect != "column" else finding.aspect
    message = f"{words}{f' {finding.column}' if finding.aspect == 'column' else ''}: {finding.message}"
    if finding.breaks:
        fix = f"add it on the other side, or leave it out with --exclude-columns {finding.column}"
        return Problem(Severity.DIFFERENT, message, fix, table=table)
    return Problem(Severity.NOTE, message, None, table=table)


def _of_plan(table: str, plan: TablePlan, asked_key: tuple[str, ...] | None) -> Iterator[Problem]:
    if plan.strategy is Strategy.COUNTS:
        yield Problem(Severity.UNVERIFIED, "rows are only counted", "leave out --counts-only", table=table)
    if not plan.key:
        message = "no key: rows are a multiset, a changed row shows as one missing and one extra"
        yield Problem(Severity.NOTE, message, "give --key, or add a primary key", table=table)
    elif asked_key is not None:
        sides = (("source", plan.source.scan), ("target", plan.target.scan))
        for side, scan in sides:
            names = {column.name for column in scan.key_columns}
            if not _is_unique(scan.table, names):
                message = f"nothing keeps ({', '.join(sorted(names))}) unique: rows that share a key are not told apart"
                yield Problem(Severity.NOTE, message, "add a unique index", side, table)


def _is_unique(table: Table, names: set[str]) -> bool:
    return any(index.unique and set(index.columns) <= names for index in table.indexes)
