"""How SQLite quotes names, writes values and reads columns."""

from __future__ import annotations

from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.sql.dialect import Dialect
from tieout.connectors.sqlite import literals, quoting
from tieout.model.canonical_kinds import Form
from tieout.model.tables import Column, TableName
from tieout.model.types import TypeName

_NUMBERS = {Form.INTEGER, Form.DECIMAL, Form.FLOAT64}
"""Forms in which a value that is not a number is odd."""


class SQLiteDialect(Dialect):
    def quote(self, name: str) -> str:
        return quoting.name(name)

    def table(self, name: TableName) -> str:
        return quoting.table(name)

    def wire(self, column: ScanColumn, reference: str) -> str:
        # The class of each value says more than any cast would keep, so the value is read as it is.
        return reference

    def finds(self, column: ScanColumn) -> bool:
        """Numbers only: there are many ways to write a date, and a text column may hold a BLOB."""
        numbers = {TypeName.INTEGER, TypeName.FLOAT64, TypeName.DECIMAL}
        return column.column.type.name in numbers and column.kind.form in _NUMBERS

    def literal(self, column: Column, text: str) -> str:
        return literals.of_key(column, text)

    def value(self, column: Column, text: str) -> str:
        return literals.of_new_value(column, text)
