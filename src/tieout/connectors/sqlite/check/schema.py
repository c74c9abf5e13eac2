"""Inspects the definitions in an SQLite file.

For columns: defaults and generated columns that fail, sequences that are behind. Indexes that SQLite does not
understand. Foreign keys whose parent is missing or has no such key. Views and triggers that fail to compile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import Inspection, SchemaFailure, StatementError
from tieout.connectors.sqlite.check.catalog import index_words
from tieout.connectors.sqlite.errors import explain, translated
from tieout.connectors.sqlite.quoting import name as quote
from tieout.connectors.sqlite.session import SQLiteSession, objection, schema_session
from tieout.connectors.sqlite.tokens import Token, joined, name_of, split_at_commas, tokens
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_OBJECTS = """
SELECT type, name, tbl_name, sql FROM main.sqlite_master
WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql IS NOT NULL ORDER BY name"""

_SCHEMA = "main"


@dataclass
class Relation:
    """A table or a view. `indexes` and `triggers` are the statements that made them, by name.

    `known`: SQLite understands its definition.
    """

    name: str
    statement: str
    is_view: bool
    known: bool
    inspection: Inspection
    indexes: dict[str, str] = field(default_factory=dict)
    triggers: dict[str, str] = field(default_factory=dict)

    @property
    def quoted(self) -> str:
        return f"main.{quote(self.name)}"

    @property
    def words(self) -> list[Token]:
        return tokens(self.statement)

    @property
    def is_virtual(self) -> bool:
        words = [token for token in self.words if token.text != " "]
        return len(words) > 1 and words[1].says("VIRTUAL")


def inspect(url: EndpointUrl, names: Collection[TableName] | None) -> list[Inspection]:
    """Inspects these tables and the views that read them; None: all."""
    with translated(url), closing(schema_session(url)) as session:
        everything = _relations(session)
        chosen = _wanted(everything, names)
        for relation in chosen:
            _inspect_relation(session, relation, everything)
        _inspect_triggers([relation for relation in chosen if relation.known], everything)
        return [relation.inspection for relation in chosen]


def _inspect_relation(session: SQLiteSession, relation: Relation, everything: dict[str, Relation]) -> None:
    if not relation.known:
        details = {
            "reason": f"SQLite {sqlite3.sqlite_version} does not understand its definition",
            "definition": relation.statement,
        }
        relation.inspection.failures.append(SchemaFailure(FailureKind.ENGINE_FINDING, details))
    elif relation.is_view:
        relation.inspection.looked_at["definitions"] += 1
        trouble = session.error_of(f"EXPLAIN SELECT * FROM {relation.quoted}")
        if trouble is not None:
            relation.inspection.record(trouble, SchemaFailure(FailureKind.INVALID_VIEW, {"reason": trouble.message}))
    else:
        relation.inspection.looked_at["definitions"] += 1
        _inspect_table(session, relation)
        _inspect_indexes(session, relation)
        _inspect_foreign_keys(session, relation, everything)


def _relations(session: SQLiteSession) -> dict[str, Relation]:
    """The tables and views by name in lower case, as SQLite finds them."""
    rows = session.rows(_OBJECTS)
    known = {str(row[0]).casefold() for row in session.rows("SELECT name FROM pragma_table_list WHERE schema = 'main'")}
    found = {
        name.casefold(): Relation(
            name,
            statement,
            kind == "view",
            name.casefold() in known,
            Inspection(TableName(_SCHEMA, name), "view" if kind == "view" else None),
        )
        for kind, name, _, statement in rows
        if kind in ("table", "view")
    }
    for kind, name, owner, statement in rows:
        relation = found.get(owner.casefold())
        if relation is not None and kind == "index":
            relation.indexes[name] = statement
        elif relation is not None and kind == "trigger":
            relation.triggers[name] = statement
    return found


def _wanted(found: dict[str, Relation], names: Collection[TableName] | None) -> list[Relation]:
    """The relations with these names, and the views that mention them or such a view; all, if `names` is None."""
    if names is None:
        return list(found.values())
    chosen = {name.name.casefold() for name in names} & found.keys()
    spoken = {
        key: {name_of(token).casefold() for token in view.words if token.text.strip()}
        for key, view in found.items()
        if view.is_view
    }
    while True:
        more = {key for key, words in spoken.items() if words & chosen} - chosen
        if not more:
            return [relation for key, relation in found.items() if key in chosen]
        chosen |= more


_KEYS = """
SELECT i.name, x.name FROM pragma_index_list(%s) AS i, pragma_index_xinfo(i.name) AS x
WHERE i."unique" AND NOT i.partial AND x.key"""


def _inspect_foreign_keys(session: SQLiteSession, table: Relation, others: Mapping[str, Relation]) -> None:
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
            table.inspection.failures.append(
                SchemaFailure(FailureKind.INVALID_FOREIGN_KEY, details, tuple(columns), constraint=f"fk{number}")
            )


def _reason(
    session: SQLiteSession, parent: Relation | None, name: str, count: int, theirs: Sequence[str]
) -> str | None:
    if parent is None:
        return f"the table {name} does not exist"
    if parent.is_view:
        return f"{name} is a view"
    columns = session.rows("SELECT name, pk FROM pragma_table_xinfo(%s)", [name])
    primary = {column.casefold() for column, key in columns if key}
    if not theirs:
        return None if len(primary) == count else f"the primary key of {name} has {len(primary)} columns, not {count}"
    missing = [column for column in theirs if column.casefold() not in {each.casefold() for each, _ in columns}]
    if missing:
        return f"{name} has no column {', '.join(missing)}"
    wanted = {column.casefold() for column in theirs}
    return (
        None
        if wanted == primary or wanted in _unique(session, name)
        else f"({', '.join(theirs)}) is not a unique key of {name}"
    )


def _unique(session: SQLiteSession, table: str) -> list[set[str]]:
    """The columns of each unique index on whole columns: a part that is an expression has no name."""
    found = []
    for _, parts in groupby(session.rows(_KEYS, [table]), key=itemgetter(0)):
        names = [name for _, name in parts]
        if None not in names:
            found.append({name.casefold() for name in names})
    return found


_EXPRESSION = -2


def _inspect_indexes(session: SQLiteSession, table: Relation) -> None:
    known = {row[0] for row in session.rows("SELECT name FROM pragma_index_list(%s)", [table.name])}
    for name, statement in table.indexes.items():
        table.inspection.looked_at["indexes"] += 1
        if name not in known:
            table.inspection.failures.append(_wrong(name, "SQLite does not understand its definition", statement))
            continue
        trouble = session.error_of(f"EXPLAIN REINDEX main.{quote(name)}")
        reason = trouble.message if trouble else _taken_for_text(session, name, statement)
        if trouble is not None:
            table.inspection.record(trouble, _wrong(name, trouble.message, statement))
        elif reason is not None:
            table.inspection.failures.append(_wrong(name, reason, statement))


def _taken_for_text(session: SQLiteSession, name: str, statement: str) -> str | None:
    """SQLite takes a name in double quotes that is not a column for a text: the same for every row."""
    parts, _ = index_words(statement)
    for place, number in session.rows("SELECT seqno, cid FROM pragma_index_xinfo(%s) WHERE key", [name]):
        words = tokens(parts[place])
        if number == _EXPRESSION and len(words) == 1 and words[0].text.startswith('"'):
            return f"{parts[place]} is not a column of the table: SQLite takes it for a text"
    return None


def _wrong(name: str, reason: str, statement: str) -> SchemaFailure:
    return SchemaFailure(FailureKind.INVALID_INDEX_DEFINITION, {"reason": reason, "definition": statement}, index=name)


_ROWS = 1000
"""The number of rows for which a generated column is computed: another check compares all of its values."""

_KEYWORDS = ("NULL", "TRUE", "FALSE", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP")


def _inspect_table(session: SQLiteSession, table: Relation) -> None:
    trouble = session.error_of(f"EXPLAIN SELECT * FROM {table.quoted}")
    if trouble is not None:
        table.inspection.record(trouble, SchemaFailure(FailureKind.MISSING_REFERENCE, {"reason": trouble.message}))
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
    # A single name is not a column here, but a text.
    if len(words) == 1 and not words[0].says(*_KEYWORDS) and (words[0].is_word or words[0].text[0] in '"`['):
        return
    trouble = session.error_of(f"SELECT ({text})")
    if trouble is not None:
        details = {"expression": text, "reason": trouble.message}
        defect = SchemaFailure(FailureKind.INVALID_DEFAULT, details, (column,), place=f"column {column}")
        table.inspection.record(trouble, defect)


def _generated(session: SQLiteSession, table: Relation, column: str) -> None:
    table.inspection.looked_at["generated columns"] += 1
    text = next((text for name, text in _expressions(table) if name.casefold() == column.casefold()), None)
    if text is None:
        table.inspection.left_out.append(f"column {column}: its expression is not found in the table's definition")
        return
    trouble = session.error_of(f"SELECT ({text}) FROM {table.quoted} LIMIT {_ROWS}")
    if trouble is not None:
        details = {"expression": text, "reason": trouble.message}
        defect = SchemaFailure(FailureKind.INVALID_GENERATED_COLUMN, details, (column,), place=f"column {column}")
        table.inspection.record(trouble, defect)


def _expressions(table: Relation) -> Iterator[tuple[str, str]]:
    """The generated columns of a table's definition, and their expressions."""
    inside = [token for token in table.words if token.depth > 0]
    for part in split_at_commas(inside, 1):
        at = next((place for place, token in enumerate(part) if token.depth == 1 and token.says("AS")), None)
        if at is not None:
            yield name_of(part[0]), joined(_grouped(part[at + 1 :]))


def _grouped(part: list[Token]) -> Iterator[Token]:
    """The content of the first parentheses."""
    inside = False
    for token in part:
        if token.depth > 1:
            inside = True
            yield token
        elif inside:
            return


def _sequence(session: SQLiteSession, table: Relation, columns: list[tuple[Any, ...]]) -> None:
    """SQLite continues from the larger of both numbers, so it reuses a number only after its row is deleted."""
    if not any(token.says("AUTOINCREMENT") for token in table.words):
        return
    table.inspection.looked_at["sequences"] += 1
    (column,) = (name for name, _, _, key in columns if key)
    # In one statement, so at one snapshot.
    ((counted, largest),) = session.rows(
        f"SELECT (SELECT max(seq) FROM main.sqlite_sequence WHERE name = %s),"
        f" (SELECT max({quote(column)}) FROM {table.quoted} NOT INDEXED)",
        [table.name],
    )
    if largest is not None and (counted or 0) < largest:
        details = {"next": str((counted or 0) + 1), "column_has": str(largest), "sequence": "sqlite_sequence"}
        defect = SchemaFailure(FailureKind.SEQUENCE_BEHIND, details, (column,), place=f"column {column}")
        table.inspection.failures.append(defect)


_OTHER_EVENT = "cannot modify"


def _inspect_triggers(tables: Iterable[Relation], all_of_them: Mapping[str, Relation]) -> None:
    with_triggers = [table for table in tables if table.triggers]
    if not with_triggers:
        return
    # A cached EXPLAIN does not notice that the schema has changed.
    with closing(sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)) as copy:
        for each in all_of_them.values():
            # What can't be created here is missing in the copy as it is in the file.
            with suppress(sqlite3.Error):
                copy.execute(each.statement)
        made = {row[0].casefold() for row in copy.execute("SELECT name FROM pragma_table_list")}
        for table in with_triggers:
            if any(defect.part == (None, None, None) for defect in table.inspection.failures):
                continue  # the table itself is wrong, and so is all that belongs to it
            if table.name.casefold() not in made:
                table.inspection.left_out.append("its triggers: could not create a table like it")
                continue
            for name, statement in table.triggers.items():
                table.inspection.looked_at["triggers"] += 1
                trouble = _compiled(copy, table, name, statement)
                if trouble is not None:
                    details = {"reason": trouble.message}
                    table.inspection.record(
                        trouble, SchemaFailure(FailureKind.MISSING_REFERENCE, details, place=f"trigger {name}")
                    )


def _compiled(copy: sqlite3.Connection, table: Relation, name: str, statement: str) -> StatementError | None:
    try:
        copy.execute(statement)
    except sqlite3.Error as error:
        return objection(*explain(error))
    try:
        for event in _events(copy, table):
            with suppress(_AnotherEvent):
                _explain(copy, event)
    except sqlite3.Error as error:
        return objection(*explain(error))
    finally:
        copy.execute(f"DROP TRIGGER {quote(name)}")
    return None


class _AnotherEvent(Exception):
    """A view with INSTEAD OF triggers, none of which is for this event."""


def _explain(copy: sqlite3.Connection, event: str) -> None:
    try:
        copy.execute(f"EXPLAIN {event}").fetchall()
    except sqlite3.Error as error:
        if str(error).startswith(_OTHER_EVENT):
            raise _AnotherEvent from None
        raise


def _events(copy: sqlite3.Connection, table: Relation) -> Iterator[str]:
    """Statements for which SQLite compiles every trigger of the table; an UPDATE names every column."""
    name = quote(table.name)
    columns = [row[0] for row in copy.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", [table.name])]
    yield f"INSERT INTO {name} DEFAULT VALUES"
    yield f"UPDATE {name} SET {', '.join(f'{quote(column)} = {quote(column)}' for column in columns)}"
    yield f"DELETE FROM {name}"
