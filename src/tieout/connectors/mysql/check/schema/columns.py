"""Checks defaults, generated columns, and counters and sequences whose next value their column has already."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tieout.connectors.mysql.check.schema.objects import Relation, SchemaSession
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.protocols.check import SchemaFailure, StatementError
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_COUNTERS = """
SELECT c.table_schema, c.table_name, c.column_name, s.index_name
FROM information_schema.columns c
JOIN information_schema.statistics s ON s.table_schema = c.table_schema AND s.table_name = c.table_name
  AND s.column_name = c.column_name AND s.seq_in_index = 1
WHERE c.table_schema IN ({}) AND c.extra LIKE '%%auto_increment%%' ORDER BY 1, 2, s.index_name <> 'PRIMARY'"""

_COUNTER = "SELECT auto_increment FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"

_STATE = "SELECT next_not_cached_value, increment, cycle_option, minimum_value, maximum_value FROM"


def check_counters(session: SchemaSession, schemas: Sequence[str], relations: Mapping[TableName, Relation]) -> None:
    """Checks AUTO_INCREMENT. Where it counts within groups, as in longer keys of MyISAM, no index starts with it."""
    seen = set()
    for schema, table, column, index in session.about(_COUNTERS, schemas):
        relation = relations.get(TableName(schema, table))
        if relation is None or not relation.is_readable or relation.name in seen:
            continue
        seen.add(relation.name)
        relation.inspection.looked_at["sequences"] += 1
        largest = _largest(session, relation, column, index)
        # Rows first: a concurrent writer moves the counter forward, never back.
        counter = session.attempt(_COUNTER, [schema, table])
        if isinstance(largest, StatementError) or isinstance(counter, StatementError):
            message = largest.message if isinstance(largest, StatementError) else str(counter)
            relation.inspection.left_out.append(f"column {column}: {message}")
        elif largest is not None and counter and counter[0][0] is not None and int(counter[0][0]) <= largest:
            details = {"next": str(counter[0][0]), "column_has": str(largest), "sequence": "AUTO_INCREMENT"}
            relation.inspection.failures.append(
                SchemaFailure(FailureKind.SEQUENCE_BEHIND, details, (column,), place=f"column {column}")
            )


def _largest(session: SchemaSession, relation: Relation, column: str, index: str) -> int | StatementError | None:
    """The largest value, without an index that may be wrong. InnoDB's primary key is the table."""
    clustered = index == "PRIMARY" and (relation.engine or "").casefold() == "innodb"
    through = "FORCE INDEX (PRIMARY)" if clustered else "USE INDEX ()"
    quoted = session.dialect.quote(column)
    rows = session.attempt(f"SELECT MAX({quoted}) FROM {session.dialect.table(relation.name)} {through}")
    if isinstance(rows, StatementError):
        return rows
    return None if rows[0][0] is None else int(rows[0][0])


def _check_sequence(session: SchemaSession, relation: Relation, column: str, sequence: TableName) -> None:
    """Checks a sequence. The server does not show its cached values, so they count as used."""
    relation.inspection.looked_at["sequences"] += 1
    quoted, table = session.dialect.quote(column), session.dialect.table(relation.name)
    state = f"{_STATE} {session.dialect.table(sequence)}"
    before = session.attempt(state)
    if isinstance(before, StatementError):
        relation.inspection.left_out.append(f"sequence {sequence}: {before.message}")
        return
    following, step, cycles, least, most = before[0]
    last = "MIN" if step < 0 else "MAX"
    steps = f" AND ({quoted} - {following}) % {abs(step)} = 0" if abs(step) > 1 else ""
    rows = session.attempt(
        f"SELECT {last}({quoted}) FROM {table} USE INDEX () WHERE {quoted} BETWEEN {least} AND {most}{steps}"
    )
    after = session.attempt(state)
    if isinstance(rows, StatementError) or isinstance(after, StatementError):
        relation.inspection.left_out.append(f"sequence {sequence}: its column could not be read")
        return
    furthest, following = rows[0][0], after[0][0]
    if furthest is None or cycles or (following > furthest if step >= 0 else following < furthest):
        return
    details = {"next": str(following), "column_has": str(furthest), "sequence": str(sequence)}
    relation.inspection.failures.append(
        SchemaFailure(FailureKind.SEQUENCE_BEHIND, details, (column,), place=f"sequence {sequence}")
    )


_COLUMNS = """
SELECT table_schema, table_name, column_name, column_default, generation_expression, extra
FROM information_schema.columns
WHERE table_schema IN ({}) AND (column_default IS NOT NULL OR generation_expression <> '')
ORDER BY 1, 2, ordinal_position"""

_LITERAL = re.compile(r"NULL|-?[\d.]+(?:e[+-]?\d+)?|[bx]?'(?:[^']|'')*'|current_timestamp(?:\(\d?\))?", re.IGNORECASE)
_NEXTVAL = re.compile(r"nextval\(`((?:[^`]|``)*)`\.`((?:[^`]|``)*)`\)", re.IGNORECASE)

ROWS = 1000
"""Rows for which a generated column is computed. Another check compares its values in all rows."""


def check_columns(session: SchemaSession, schemas: Sequence[str], relations: Mapping[TableName, Relation]) -> None:
    for schema, table, column, default, generated, extra in session.about(_COLUMNS, schemas):
        relation = relations.get(TableName(schema, table))
        if relation is None or not relation.is_readable:
            continue
        maria = session.server_kind is ServerKind.MARIADB
        # MySQL's catalog escapes quotes once more; and for defaults that are not expressions it has the bare value.
        text = str(generated or default) if maria else str(generated or default).replace("\\'", "'")
        if generated:
            _generated(session, relation, column, text)
        elif maria or "DEFAULT_GENERATED" in extra:
            _default(session, relation, column, text)


def _default(session: SchemaSession, relation: Relation, column: str, text: str) -> None:
    relation.inspection.looked_at["defaults"] += 1
    if _LITERAL.fullmatch(text):
        return
    trouble = session.fails_to_compile(f"SELECT ({text}) FROM {session.dialect.table(relation.name)} LIMIT 0")
    if trouble is not None:
        details = {"expression": text, "reason": trouble.message}
        relation.inspection.record(
            trouble, SchemaFailure(FailureKind.INVALID_DEFAULT, details, (column,), place=f"column {column}")
        )
    elif (taken := _NEXTVAL.fullmatch(text)) is not None:
        _check_sequence(session, relation, column, TableName(*(name.replace("``", "`") for name in taken.groups())))


def _generated(session: SchemaSession, relation: Relation, column: str, text: str) -> None:
    relation.inspection.looked_at["generated columns"] += 1
    table = session.dialect.table(relation.name)
    trouble = session.error_of(
        f"SELECT COUNT(computed) FROM (SELECT ({text}) AS computed FROM {table} USE INDEX () LIMIT {ROWS}) AS some"
    )
    if trouble is not None:
        details = {"expression": text, "reason": trouble.message}
        relation.inspection.record(
            trouble, SchemaFailure(FailureKind.INVALID_GENERATED_COLUMN, details, (column,), place=f"column {column}")
        )
