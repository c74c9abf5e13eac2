"""Columns of tables: defaults and generated ones that fail, numbers that are behind; indexes that SQLite does not
understand; foreign keys whose parent is gone, or has no such key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from tieout.connectors.protocols.check import Defect
from tieout.connectors.sqlite.check.catalog import index_words
from tieout.connectors.sqlite.check.schema.objects import Relation
from tieout.connectors.sqlite.quoting import name as quote
from tieout.connectors.sqlite.session import SQLiteSession
from tieout.connectors.sqlite.tokens import Token, joined, name_of, split_at_commas, tokens
from tieout.model.failures import FailureKind

_KEYS = """
SELECT i.name, x.name FROM pragma_index_list(%s) AS i, pragma_index_xinfo(i.name) AS x
WHERE i."unique" AND NOT i.partial AND x.key"""


def look_at_foreign_keys(session: SQLiteSession, table: Relation, others: Mapping[str, Relation]) -> None:
    rows = session.rows(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(%s) ORDER BY id, seq', [table.name]
    )
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
    session: SQLiteSession, parent: Relation | None, name: str, count: int, theirs: Sequence[str]
) -> str | None:
    if parent is None:
        return f"there is no table {name}"
    if parent.is_view:
        return f"{name} is a view"
    columns = session.rows("SELECT name, pk FROM pragma_table_xinfo(%s)", [name])
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


def _unique(session: SQLiteSession, table: str) -> list[set[str]]:
    """What unique indexes on whole columns have: one with an expression has a part without a name."""
    found = []
    for _, parts in groupby(session.rows(_KEYS, [table]), key=itemgetter(0)):
        names = [name for _, name in parts]
        if None not in names:
            found.append({name.casefold() for name in names})
    return found


_EXPRESSION = -2


def look_at_indexes(session: SQLiteSession, table: Relation) -> None:
    known = {row[0] for row in session.rows("SELECT name FROM pragma_index_list(%s)", [table.name])}
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


def _taken_for_text(session: SQLiteSession, name: str, statement: str) -> str | None:
    """A name in double quotes that is no column is a text to SQLite: the same for every row."""
    parts, _ = index_words(statement)
    for place, number in session.rows("SELECT seqno, cid FROM pragma_index_xinfo(%s) WHERE key", [name]):
        words = tokens(parts[place])
        if number == _EXPRESSION and len(words) == 1 and words[0].text.startswith('"'):
            return f"{parts[place]} is no column of the table: SQLite takes it for a text"
    return None


def _wrong(name: str, reason: str, statement: str) -> Defect:
    return Defect(FailureKind.INVALID_INDEX_DEFINITION, {"reason": reason, "definition": statement}, index=name)


ROWS = 1000
"""Of so many rows a generated column is computed: whether it has the right value in all of them is another check."""

_KEYWORDS = ("NULL", "TRUE", "FALSE", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP")


def look_at_table(session: SQLiteSession, table: Relation) -> None:
    trouble = session.trouble(f"EXPLAIN SELECT * FROM {table.quoted}")
    if trouble is not None:
        table.inspection.met(trouble, Defect(FailureKind.MISSING_REFERENCE, {"reason": trouble.message}))
    if trouble is not None or table.is_virtual:
        return
    columns = session.rows("SELECT name, dflt_value, hidden, pk FROM pragma_table_xinfo(%s)", [table.name])
    for name, default, hidden, _ in columns:
        if default is not None:
            _default(session, table, name, default)
        if hidden in (2, 3):
            _generated(session, table, name)
    _sequence(session, table, columns)


def _default(session: SQLiteSession, table: Relation, column: str, text: str) -> None:
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


def _generated(session: SQLiteSession, table: Relation, column: str) -> None:
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


def _sequence(session: SQLiteSession, table: Relation, columns: list[tuple[Any, ...]]) -> None:
    """SQLite takes the larger of both numbers: a number is handed out again only once its row is gone."""
    if not any(token.says("AUTOINCREMENT") for token in table.words):
        return
    table.inspection.looked_at["sequences"] += 1
    (column,) = (name for name, _, _, key in columns if key)
    # In one statement: of one moment.
    ((counted, largest),) = session.rows(
        f"SELECT (SELECT max(seq) FROM main.sqlite_sequence WHERE name = %s),"
        f" (SELECT max({quote(column)}) FROM {table.quoted} NOT INDEXED)",
        [table.name],
    )
    if largest is not None and (counted or 0) < largest:
        details = {"next": str((counted or 0) + 1), "column_has": str(largest), "sequence": "sqlite_sequence"}
        defect = Defect(FailureKind.SEQUENCE_BEHIND, details, (column,), place=f"column {column}")
        table.inspection.defects.append(defect)
