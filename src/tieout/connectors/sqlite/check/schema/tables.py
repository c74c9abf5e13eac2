"""Columns of tables: defaults and generated ones that fail, numbers that are behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tieout.connectors.protocols.check import Defect
from tieout.connectors.sqlite.check.schema.objects import Relation
from tieout.connectors.sqlite.check.schema.session import SchemaSession, quote
from tieout.connectors.sqlite.tokens import Token, joined, name_of, split_at_commas, tokens
from tieout.model.failures import FailureKind

ROWS = 1000
"""Of so many rows a generated column is computed: whether it has the right value in all of them is another check."""

_KEYWORDS = ("NULL", "TRUE", "FALSE", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP")


def look_at_table(session: SchemaSession, table: Relation) -> None:
    trouble = session.trouble(f"EXPLAIN SELECT * FROM {table.quoted}")
    if trouble is not None:
        table.inspection.met(trouble, Defect(FailureKind.MISSING_REFERENCE, {"reason": trouble.message}))
    if trouble is not None or table.is_virtual:
        return
    columns = session.rows("SELECT name, dflt_value, hidden, pk FROM pragma_table_xinfo(?)", table.name)
    for name, default, hidden, _ in columns:
        if default is not None:
            _default(session, table, name, default)
        if hidden in (2, 3):
            _generated(session, table, name)
    _sequence(session, table, columns)


def _default(session: SchemaSession, table: Relation, column: str, text: str) -> None:
    table.inspection.looked_at["defaults"] += 1
    words = tokens(text)
    # A name that stands alone is no column here, but a text.
    if len(words) == 1 and not words[0].says(*_KEYWORDS) and (words[0].is_word or words[0].text[0] in '"`['):
        return
    trouble = session.trouble(f"SELECT ({text})")
    if trouble is not None:
        details = {"expression": text, "reason": trouble.message}
        defect = Defect(FailureKind.INVALID_DEFAULT, details, (column,), place=f"column {column}")
        table.inspection.met(trouble, defect)


def _generated(session: SchemaSession, table: Relation, column: str) -> None:
    table.inspection.looked_at["generated columns"] += 1
    text = next((text for name, text in _expressions(table) if name.casefold() == column.casefold()), None)
    if text is None:
        table.inspection.left_out.append(f"column {column}: its expression is not found in the table's definition")
        return
    trouble = session.trouble(f"SELECT ({text}) FROM {table.quoted} LIMIT {ROWS}")
    if trouble is not None:
        details = {"expression": text, "reason": trouble.message}
        defect = Defect(FailureKind.INVALID_GENERATED_COLUMN, details, (column,), place=f"column {column}")
        table.inspection.met(trouble, defect)


def _expressions(table: Relation) -> Iterator[tuple[str, str]]:
    """The generated columns of a table's definition, and what they are generated as."""
    inside = [token for token in table.words if token.depth > 0]
    for part in split_at_commas(inside, 1):
        at = next((place for place, token in enumerate(part) if token.depth == 1 and token.says("AS")), None)
        if at is not None:
            yield name_of(part[0]), joined(_grouped(part[at + 1 :]))


def _grouped(part: list[Token]) -> Iterator[Token]:
    """What is in the first parentheses."""
    inside = False
    for token in part:
        if token.depth > 1:
            inside = True
            yield token
        elif inside:
            return


def _sequence(session: SchemaSession, table: Relation, columns: list[tuple[Any, ...]]) -> None:
    """SQLite takes the larger of both numbers: a number is handed out again only once its row is gone."""
    if not any(token.says("AUTOINCREMENT") for token in table.words):
        return
    table.inspection.looked_at["sequences"] += 1
    (column,) = (name for name, _, _, key in columns if key)
    # In one statement: of one moment.
    ((counted, largest),) = session.rows(
        f"SELECT (SELECT max(seq) FROM main.sqlite_sequence WHERE name = ?),"
        f" (SELECT max({quote(column)}) FROM {table.quoted} NOT INDEXED)",
        table.name,
    )
    if largest is not None and (counted or 0) < largest:
        details = {"next": str((counted or 0) + 1), "column_has": str(largest), "sequence": "sqlite_sequence"}
        defect = Defect(FailureKind.SEQUENCE_BEHIND, details, (column,), place=f"column {column}")
        table.inspection.defects.append(defect)
