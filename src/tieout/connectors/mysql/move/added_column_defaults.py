"""What rows got in a column that was added: the default of the statement that added it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

from tieout.connectors.mysql.binlog.ddl_tokens import Unreadable, words_of
from tieout.errors import UnsupportedError
from tieout.model.tables import Column, Table


def given(table: Table, columns: Sequence[Column], told: Mapping[str, str | None] | None) -> dict[str, str | None]:
    """The catalog's defaults, if they are still those that the statement gave."""
    return {column.name: _given(table, column, told) for column in columns}


def _given(table: Table, column: Column, told: Mapping[str, str | None] | None) -> str | None:
    name = f"{table.name}: its new column {column.name}"
    if told is None or column.name not in told:
        raise UnsupportedError(f"{name} was added by no statement in the log: what its rows got is not known")
    said = told[column.name]
    if said is not None and said.startswith("("):
        raise UnsupportedError(f"{name} has a default that each server computes by itself")
    if not _is_same(said, _plain(column.default)):
        raise UnsupportedError(f"{name} has another default by now than the rows got that were there")
    return None if said is None else column.default


def _plain(default: str | None) -> str | None:
    """A default of the catalog without quotes, which MariaDB has and MySQL has not."""
    if default is None or default.upper() == "NULL":
        return None
    if not default.startswith("'"):
        return default
    try:
        return words_of(default)[0].text
    except Unreadable:
        return default


def _is_same(said: str | None, known: str | None) -> bool:
    if said == known or said is None or known is None:
        return said == known
    try:
        return Decimal(said) == Decimal(known)
    except InvalidOperation:
        return False
