"""Triggers that can't fire any more: each is compiled alone, in an empty copy of the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress

from tieout.connectors.protocols.check import Defect, Trouble
from tieout.connectors.sqlite.check.schema.objects import Relation
from tieout.connectors.sqlite.errors import explain
from tieout.connectors.sqlite.quoting import name as quote
from tieout.connectors.sqlite.session import objection
from tieout.model.failures import FailureKind

_OTHER_EVENT = "cannot modify"


def look_at_triggers(tables: Iterable[Relation], all_of_them: Mapping[str, Relation]) -> None:
    with_triggers = [table for table in tables if table.triggers]
    if not with_triggers:
        return
    # An EXPLAIN that is kept for the next time does not notice that the schema has changed.
    with closing(sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)) as copy:
        for each in all_of_them.values():
            # What can't be made is missing in the copy as it is in the file.
            with suppress(sqlite3.Error):
                copy.execute(each.statement)
        made = {row[0].casefold() for row in copy.execute("SELECT name FROM pragma_table_list")}
        for table in with_triggers:
            if any(defect.part == (None, None, None) for defect in table.inspection.defects):
                continue  # what is wrong is wrong with all that is its own
            if table.name.casefold() not in made:
                table.inspection.left_out.append("its triggers: a table like it could not be made")
                continue
            for name, statement in table.triggers.items():
                table.inspection.looked_at["triggers"] += 1
                trouble = _compiled(copy, table, name, statement)
                if trouble is not None:
                    details = {"reason": trouble.message}
                    table.inspection.met(
                        trouble, Defect(FailureKind.MISSING_REFERENCE, details, place=f"trigger {name}")
                    )


def _compiled(copy: sqlite3.Connection, table: Relation, name: str, statement: str) -> Trouble | None:
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
    """A view that is changed by triggers, and not in this way."""


def _explain(copy: sqlite3.Connection, event: str) -> None:
    try:
        copy.execute(f"EXPLAIN {event}").fetchall()
    except sqlite3.Error as error:
        if str(error).startswith(_OTHER_EVENT):
            raise _AnotherEvent from None
        raise


def _events(copy: sqlite3.Connection, table: Relation) -> Iterator[str]:
    """Statements that every trigger of the table is compiled for; an UPDATE names every column."""
    name = quote(table.name)
    columns = [row[0] for row in copy.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", [table.name])]
    yield f"INSERT INTO {name} DEFAULT VALUES"
    yield f"UPDATE {name} SET {', '.join(f'{quote(column)} = {quote(column)}' for column in columns)}"
    yield f"DELETE FROM {name}"
