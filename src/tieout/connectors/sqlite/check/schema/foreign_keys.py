"""Foreign keys whose parent is gone, or has no such key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from tieout.connectors.protocols.check import Defect
from tieout.connectors.sqlite.check.schema.objects import Relation
from tieout.connectors.sqlite.check.schema.session import SchemaSession
from tieout.model.failures import FailureKind

_KEYS = """
SELECT i.name, x.name FROM pragma_index_list(?) AS i, pragma_index_xinfo(i.name) AS x
WHERE i."unique" AND NOT i.partial AND x.key"""


def look_at_foreign_keys(session: SchemaSession, table: Relation, others: Mapping[str, Relation]) -> None:
    rows = session.rows('SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', table.name)
    for number, parts in groupby(rows, key=itemgetter(0)):
        table.inspection.looked_at["foreign keys"] += 1
        listed = list(parts)
        parent, columns, theirs = listed[0][1], [row[2] for row in listed], [row[3] for row in listed if row[3]]
        reason = _reason(session, others.get(parent.casefold()), parent, len(columns), theirs)
        if reason is not None:
            details = {"reason": reason, "refers_to": f"{parent} ({', '.join(theirs)})" if theirs else parent}
            table.inspection.defects.append(
                Defect(FailureKind.INVALID_FOREIGN_KEY, details, tuple(columns), constraint=f"fk{number}")
            )


def _reason(
    session: SchemaSession, parent: Relation | None, name: str, count: int, theirs: Sequence[str]
) -> str | None:
    if parent is None:
        return f"there is no table {name}"
    if parent.is_view:
        return f"{name} is a view"
    columns = session.rows("SELECT name, pk FROM pragma_table_xinfo(?)", name)
    primary = {column.casefold() for column, key in columns if key}
    if not theirs:
        return (
            None if len(primary) == count else f"the primary key of {name} has not {count} columns but {len(primary)}"
        )
    missing = [column for column in theirs if column.casefold() not in {each.casefold() for each, _ in columns}]
    if missing:
        return f"{name} has no column {', '.join(missing)}"
    wanted = {column.casefold() for column in theirs}
    return (
        None if wanted == primary or wanted in _unique(session, name) else f"({', '.join(theirs)}) is no key of {name}"
    )


def _unique(session: SchemaSession, table: str) -> list[set[str]]:
    """What unique indexes on whole columns have: one with an expression has a part without a name."""
    found = []
    for _, parts in groupby(session.rows(_KEYS, table), key=itemgetter(0)):
        names = [name for _, name in parts]
        if None not in names:
            found.append({name.casefold() for name in names})
    return found
