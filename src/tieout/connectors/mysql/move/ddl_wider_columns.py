"""DDL that gives columns of a table on a MySQL server another type, and leaves everything else as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.move.ddl_from_other_engine import column_type, key_room
from tieout.connectors.mysql.show_create import NAME, parts_of, unquoted
from tieout.connectors.sql.ddl import TABLE, UnsupportedColumn
from tieout.errors import UnsupportedError
from tieout.model.tables import Column, Table
from tieout.model.widening import takes

_COLUMN = re.compile(NAME)
_REQUIRED = re.compile(r"((?: CHARACTER SET \w+)?(?: COLLATE \w+)?) NOT NULL")
_LETTERS = re.compile(r" CHARACTER SET \w+ COLLATE \w+$")


def widening(shown: str, table: Table, source: Table, names: Mapping[str, str], *, same_engine: bool) -> str:
    """One statement for all columns. `shown` is the output of SHOW CREATE TABLE: MODIFY replaces a whole definition."""
    body, _ = parts_of(shown)
    lines = {unquoted(own[0]): line.removeprefix(own[0]) for line in body if (own := _COLUMN.match(line))}
    changes = []
    for name, origin in names.items():
        there, wanted = table.column(name), source.column(origin)
        rest = lines[name].removeprefix(f" {there.type.native}")
        if rest == lines[name]:
            raise UnsupportedError(f"{table.name}: the definition of {name} is unknown: {lines[name]}")
        if wanted.nullable and name not in table.key:
            rest = _REQUIRED.sub(r"\1 NULL", rest, count=1) if _REQUIRED.match(rest) else rest
        kind = there.type.native
        if not takes(there.type, wanted.type):
            kind = _type(wanted, source, same_engine=same_engine)
        changes.append(f"MODIFY COLUMN {quoting.name(name)} {kind}{rest}")
    return f"ALTER TABLE {TABLE} {', '.join(changes)}"


def _type(wanted: Column, source: Table, *, same_engine: bool) -> str:
    if same_engine:
        return wanted.type.native
    found = column_type(wanted, key_room(source) if wanted.name in source.key else None)
    if isinstance(found, UnsupportedColumn):
        raise UnsupportedError(f"{found.column}: {found.reason}")
    return _LETTERS.sub("", found)
