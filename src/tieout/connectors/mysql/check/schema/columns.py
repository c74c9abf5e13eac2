"""Defaults and generated columns that fail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tieout.connectors.mysql.check.schema.counters import look_at_sequence
from tieout.connectors.mysql.check.schema.objects import Relation
from tieout.connectors.mysql.check.schema.session import SchemaSession
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.protocols.check import Defect
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_COLUMNS = """
SELECT table_schema, table_name, column_name, column_default, generation_expression, extra
FROM information_schema.columns
WHERE table_schema IN ({}) AND (column_default IS NOT NULL OR generation_expression <> '')
ORDER BY 1, 2, ordinal_position"""

_LITERAL = re.compile(r"NULL|-?[\d.]+(?:e[+-]?\d+)?|[bx]?'(?:[^']|'')*'|current_timestamp(?:\(\d?\))?", re.IGNORECASE)
_NEXTVAL = re.compile(r"nextval\(`((?:[^`]|``)*)`\.`((?:[^`]|``)*)`\)", re.IGNORECASE)

ROWS = 1000
"""Of so many rows a generated column is computed: whether it has the right value in all of them is another check."""


def look_at_columns(session: SchemaSession, schemas: Sequence[str], relations: Mapping[TableName, Relation]) -> None:
    for schema, table, column, default, generated, extra in session.about(_COLUMNS, schemas):
        relation = relations.get(TableName(schema, table))
        if relation is None or not relation.is_readable:
            continue
        maria = session.dialect.flavour is Flavour.MARIADB
        # MySQL's catalog has quotes escaped once more; and of defaults that are no expressions it has the bare value.
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
        relation.inspection.met(
            trouble, Defect(FailureKind.INVALID_DEFAULT, details, (column,), place=f"column {column}")
        )
    elif (taken := _NEXTVAL.fullmatch(text)) is not None:
        look_at_sequence(session, relation, column, TableName(*(name.replace("``", "`") for name in taken.groups())))


def _generated(session: SchemaSession, relation: Relation, column: str, text: str) -> None:
    relation.inspection.looked_at["generated columns"] += 1
    table = session.dialect.table(relation.name)
    trouble = session.trouble(
        f"SELECT COUNT(computed) FROM (SELECT ({text}) AS computed FROM {table} USE INDEX () LIMIT {ROWS}) AS some"
    )
    if trouble is not None:
        details = {"expression": text, "reason": trouble.message}
        relation.inspection.met(
            trouble, Defect(FailureKind.INVALID_GENERATED_COLUMN, details, (column,), place=f"column {column}")
        )
