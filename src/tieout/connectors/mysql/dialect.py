"""How MySQL and MariaDB quote, render values exactly, and hash."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.connectors.mysql import literals, quoting
from tieout.connectors.mysql.literals import NUMERIC
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.protocols.endpoint import HashSpec, Scan, ScanColumn
from tieout.connectors.sql.dialect import Dialect
from tieout.connectors.sql.select import reference
from tieout.model.canonical_kinds import Form
from tieout.model.tables import Column, TableName
from tieout.model.types import TypeName

_LOSSLESS = {"utf8mb4", "utf8mb3", "utf8", "latin1", None}
"""Character sets in which every byte string converts to utf8mb4 and back (latin1 is cp1252, all 256 of it)."""

# Without FLOAT, which no decimal literal equals; without SET and JSON, whose canonical text is not the
# server's; without text compared with another type, which may write a value in several ways.
_FOUND = {
    Form.INTEGER: NUMERIC | {TypeName.BITS},
    Form.DECIMAL: NUMERIC,
    Form.NUMBER: NUMERIC,
    Form.SCALED_NUMBER: NUMERIC,
    Form.FLOAT64: {TypeName.FLOAT64},
    Form.TEXT: {TypeName.TEXT, TypeName.CHAR, TypeName.ENUM},
    Form.BYTES: {TypeName.BINARY},
    Form.DATE: {TypeName.DATE},
    Form.TIMESTAMP: {TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT},
    Form.TIME: {TypeName.TIME},
    Form.UUID: {TypeName.UUID, TypeName.BINARY},
    Form.BITS: {TypeName.BITS},
}


@dataclass(frozen=True)
class MySQLDialect(Dialect):
    """`safe` renders more in SQL: values that a driver failed on are read as plain text or bytes. `raw` renders less:
    for a driver that returns the bytes that the server sends, however many they are.
    """

    server_kind: ServerKind
    safe: bool = False
    raw: bool = False

    def quote(self, name: str) -> str:
        return quoting.name(name)

    def table(self, name: TableName) -> str:
        return quoting.table(name)

    def wire(self, column: ScanColumn, reference: str) -> str:
        name = column.column.type.name
        if name in (TypeName.TEXT, TypeName.CHAR, TypeName.JSON):
            return self._text(column.column, reference)
        if name is TypeName.INSTANT:
            # The same in every session time zone, and in the hour that comes twice.
            return f"CAST(UNIX_TIMESTAMP({reference}) * 1000000 AS SIGNED)"
        if name is TypeName.TIME:
            return self._time(reference)
        if name is TypeName.BITS:
            return self._bits(column, reference)
        if name is TypeName.YEAR:
            return f"CAST({reference} AS UNSIGNED)"
        if name is TypeName.OPAQUE:
            return _not_lost(reference, f"HEX({reference})")
        if name in (TypeName.DATE, TypeName.TIMESTAMP):
            return f"CAST({reference} AS CHAR)" if self.safe else reference
        if name is TypeName.FLOAT32 and self.safe:
            # In the text protocol a FLOAT has six digits.
            return f"CAST({reference} AS DOUBLE)"
        if name in (TypeName.DECIMAL, TypeName.ENUM, TypeName.SET, TypeName.UUID):
            return f"CAST({reference} AS CHAR)"
        return reference

    def literal(self, column: Column, text: str) -> str:
        return literals.compared(column, text)

    def value(self, column: Column, text: str) -> str:
        return literals.assigned(column, text)

    def finds(self, column: ScanColumn) -> bool:
        named = column.column.type.name in _FOUND.get(column.kind.form, ())
        return named and column.column.charset in _LOSSLESS

    def _text(self, column: Column, reference: str) -> str:
        if column.type.name is TypeName.JSON and self.server_kind is not ServerKind.MARIADB and not self.raw:
            # Elsewhere JSON is a type of its own. MariaDB's is text with a check.
            return _not_lost(reference, f"CAST({reference} AS CHAR)")
        if column.charset not in _LOSSLESS:
            there = f"CONVERT({reference} USING utf8mb4)"
            back = f"CAST(CONVERT({there} USING {column.charset}) AS BINARY)"
            here = _not_lost(reference, f"CAST({reference} AS BINARY)")
            # Bytes without a character in Unicode would all become '?', and compare equal.
            invalid = f"CONCAT(CONVERT(X'00' USING utf8mb4), 'invalid ', HEX({reference}))"
            return _not_lost(reference, f"IF({back} <=> {here}, {there}, {invalid})")
        if self.safe and not self.raw:
            return _not_lost(reference, f"CAST(CONVERT({reference} USING utf8mb4) AS BINARY)")
        return reference

    def _time(self, reference: str) -> str:
        if self.server_kind is ServerKind.MARIADB:
            return f"CAST(TIME_TO_SEC({reference}) * 1000000 AS SIGNED)"
        return f"CAST({reference} AS CHAR)"

    def _bits(self, column: ScanColumn, reference: str) -> str:
        if column.kind.form is Form.INTEGER:
            return f"CAST({reference} AS UNSIGNED)"
        return f"LPAD(BIN({reference} + 0), {column.column.type.precision or 1:d}, '0')"

    def digest_columns(self, scan: Scan, spec: HashSpec) -> str:
        """Count and sums of the two halves of a SHA-256's first 128 bits."""
        parts = [f"IF({reference(self, c)} IS NULL, 'N', {self._hashed(c)})" for c in scan.columns]
        return f"SHA2(CONCAT({', '.join(parts)}), 256)"

    def _hashed(self, column: ScanColumn) -> str:
        if _may_be_long(column.column):
            # A CONCAT beyond max_allowed_packet is NULL, and so is the HEX of half of it.
            is_binary = column.column.type.name is TypeName.BINARY
            return f"SHA2({reference(self, column) if is_binary else self._hashed_text(column)}, 256)"
        text = self._hashed_text(column)
        return f"CONCAT(LENGTH({text}), ':', {text})"

    def _hashed_text(self, column: ScanColumn) -> str:
        """Canonical text for hashing in SQL: two equal values give the same on every server of this engine."""
        value, name = reference(self, column), column.column.type.name
        if name in (TypeName.FLOAT32, TypeName.FLOAT64):
            # A FLOAT as text has six digits; as a DOUBLE all of them. And one zero: -0 becomes 0.
            return f"CAST(CAST({value} AS DOUBLE) + 0 AS CHAR)"
        if name is TypeName.DECIMAL and column.kind.form is not Form.SCALED_NUMBER:
            text = f"CAST({value} AS CHAR)"
            plain = f"TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {text}))"
            return f"IF(LOCATE('.', {text}) > 0, {plain}, {text})"
        if name in (TypeName.DATE, TypeName.TIMESTAMP):
            return f"CAST({value} AS CHAR)"
        if name is TypeName.BINARY:
            return f"HEX({value})"
        return f"CAST({self.wire(column, value)} AS CHAR)"


def _not_lost(reference: str, rendered: str) -> str:
    """SQL: the result of a function, or the server's error VALUE_TOO_LONG.

    A function whose result would be longer than max_allowed_packet returns NULL and a warning that nobody reads: two
    such values would be equal, and a repair would write the NULL. The sum exceeds 64 bits. It uses the value's length,
    so that no server computes it before there is a row.
    """
    return f"IF({reference} IS NULL, NULL, COALESCE({rendered}, CAST(~0 + LENGTH({reference}) AS CHAR)))"


def _may_be_long(column: Column) -> bool:
    """Whether a value may be longer than 64 kB."""
    name, length = column.type.name, column.type.precision
    return name is TypeName.JSON or (name in (TypeName.TEXT, TypeName.BINARY) and (length is None or length > 65_535))
