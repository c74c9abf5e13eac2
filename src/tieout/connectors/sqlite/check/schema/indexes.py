"""Indexes that SQLite does not understand, or takes for something else than was meant."""

from __future__ import annotations

from tieout.connectors.protocols.check import Defect
from tieout.connectors.sqlite.check.catalog import index_words
from tieout.connectors.sqlite.check.schema.objects import Relation
from tieout.connectors.sqlite.check.schema.session import SchemaSession, quote
from tieout.connectors.sqlite.tokens import tokens
from tieout.model.failures import FailureKind

_EXPRESSION = -2


def look_at_indexes(session: SchemaSession, table: Relation) -> None:
    known = {row[0] for row in session.rows("SELECT name FROM pragma_index_list(?)", table.name)}
    for name, statement in table.indexes.items():
        table.inspection.looked_at["indexes"] += 1
        if name not in known:
            table.inspection.defects.append(_wrong(name, "SQLite does not understand its definition", statement))
            continue
        trouble = session.trouble(f"EXPLAIN REINDEX main.{quote(name)}")
        reason = trouble.message if trouble else _taken_for_text(session, name, statement)
        if trouble is not None:
            table.inspection.met(trouble, _wrong(name, trouble.message, statement))
        elif reason is not None:
            table.inspection.defects.append(_wrong(name, reason, statement))


def _taken_for_text(session: SchemaSession, name: str, statement: str) -> str | None:
    """A name in double quotes that is no column is a text to SQLite: the same for every row."""
    parts, _ = index_words(statement)
    for place, number in session.rows("SELECT seqno, cid FROM pragma_index_xinfo(?) WHERE key", name):
        words = tokens(parts[place])
        if number == _EXPRESSION and len(words) == 1 and words[0].text.startswith('"'):
            return f"{parts[place]} is no column of the table: SQLite takes it for a text"
    return None


def _wrong(name: str, reason: str, statement: str) -> Defect:
    return Defect(FailureKind.INVALID_INDEX_DEFINITION, {"reason": reason, "definition": statement}, index=name)
