"""Quotes names, renders values exactly, compares and writes literals in DuckDB's SQL."""

from __future__ import annotations

import re

from tieout.connectors.duckdb import quoting
from tieout.connectors.duckdb.types import is_nested
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.repair import Refused
from tieout.connectors.sql.dialect import Dialect
from tieout.model.canonical_kinds import Form
from tieout.model.tables import Column, TableName
from tieout.model.types import TypeName

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMERIC = {TypeName.INTEGER, TypeName.DECIMAL}
_MOMENTS = {TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT}

# Arrow gets the largest UHUGEINT as -1, a TIMETZ without its offset, and bits in a format of DuckDB's own.
_AS_TEXT = {TypeName.TIMETZ, TypeName.BITS, TypeName.ENUM}
_AS_TEXT_NATIVE = {"HUGEINT", "UHUGEINT", "BIGNUM", "TIME_NS"}

# Without JSON and nested types, and without text compared with another type: it may write a value in several ways.
_FOUND = {
    Form.BOOLEAN: {TypeName.BOOLEAN},
    Form.INTEGER: {TypeName.INTEGER, TypeName.BOOLEAN},
    Form.DECIMAL: _NUMERIC,
    Form.NUMBER: _NUMERIC,
    Form.SCALED_NUMBER: _NUMERIC,
    Form.FLOAT32: {TypeName.FLOAT32},
    Form.FLOAT64: {TypeName.FLOAT32, TypeName.FLOAT64},
    Form.TEXT: {TypeName.TEXT, TypeName.ENUM, TypeName.TIMETZ},
    Form.BYTES: {TypeName.BINARY},
    Form.DATE: {TypeName.DATE},
    Form.TIMESTAMP: _MOMENTS,
    Form.TIME: {TypeName.TIME},
    Form.UUID: {TypeName.UUID, TypeName.BINARY},
    Form.BITS: {TypeName.BITS},
}

# P1Y2M3DT4H5M6.7S, as PostgreSQL writes it. Arrow's intervals are nanoseconds, which would overflow.
_ISO_INTERVAL = """(CASE WHEN VALUE IS NULL THEN NULL WHEN CAST(VALUE AS VARCHAR) = '00:00:00' THEN 'PT0S' ELSE 'P'
|| CASE WHEN datepart('year', VALUE) <> 0 THEN datepart('year', VALUE) || 'Y' ELSE '' END
|| CASE WHEN datepart('month', VALUE) <> 0 THEN datepart('month', VALUE) || 'M' ELSE '' END
|| CASE WHEN datepart('day', VALUE) <> 0 THEN datepart('day', VALUE) || 'D' ELSE '' END || rtrim('T'
|| CASE WHEN datepart('hour', VALUE) <> 0 THEN datepart('hour', VALUE) || 'H' ELSE '' END
|| CASE WHEN datepart('minute', VALUE) <> 0 THEN datepart('minute', VALUE) || 'M' ELSE '' END
|| CASE WHEN datepart('microsecond', VALUE) < 0 THEN '-' ELSE '' END
|| CASE WHEN datepart('microsecond', VALUE) <> 0 THEN rtrim(rtrim(printf('%d.%06d',
  abs(datepart('microsecond', VALUE)) // 1000000, abs(datepart('microsecond', VALUE)) % 1000000), '0'), '.') || 'S'
  ELSE '' END, 'T') END)"""
_ISO = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?", re.ASCII
)
_UNITS = ("years", "months", "days", "hours", "minutes", "seconds")


class DuckDBDialect(Dialect):
    def quote(self, name: str) -> str:
        return quoting.name(name)

    def table(self, name: TableName) -> str:
        return quoting.table(name)

    def wire(self, column: ScanColumn, reference: str) -> str:
        logical = column.column.type
        if is_nested(logical):
            return f"CAST(to_json({reference}) AS VARCHAR)"
        if logical.name is TypeName.INTERVAL and column.kind.form is not Form.OPAQUE:
            return _ISO_INTERVAL.replace("VALUE", reference)
        is_text = column.kind.form is Form.OPAQUE or logical.name in _AS_TEXT or logical.native in _AS_TEXT_NATIVE
        return f"CAST({reference} AS VARCHAR)" if is_text else reference

    def literal(self, column: Column, text: str) -> str:
        """Returns NULL, which equals nothing, for a text that the type can't hold."""
        try:
            return self._literal(column, text, "TRY_CAST")
        except Refused:
            return "NULL"

    def value(self, column: Column, text: str) -> str:
        """Returns DuckDB's own text of a value, or canonical text, as a literal of the column's type."""
        if column.type.name is TypeName.UNKNOWN:
            raise Refused(f"column {column.name}: values of type {column.type.native} can't be written exactly")
        return self._literal(column, text, "CAST")

    def _literal(self, column: Column, text: str, cast: str) -> str:
        logical = column.type
        if logical.name in _NUMERIC and _INTEGER.fullmatch(text):
            return text
        try:
            if logical.name is TypeName.BINARY:
                return quoting.octets(bytes.fromhex(text.removeprefix("0x").replace("-", "")))
            quoted = quoting.text(_words(text) if logical.name is TypeName.INTERVAL else text)
        except ValueError:  # a lone surrogate, too
            raise Refused(f"column {column.name}: {text[:40]!r} is not a value of type {logical.native}") from None
        if logical.name in (TypeName.TEXT, TypeName.ENUM):
            return quoted
        if is_nested(logical):
            quoted = f"{cast}({quoted} AS JSON)"
        return f"{cast}({quoted} AS {logical.native})"

    def compared(self, column: Column, left: str, sign: str, right: str) -> str:
        if column.collation is None:
            return f"{left} {sign} {right}"
        return f"encode({left}) {sign} encode({right})"

    def finds(self, column: ScanColumn) -> bool:
        return column.column.type.name in _FOUND.get(column.kind.form, ())


def _words(text: str) -> str:
    """Returns an ISO interval in the words that DuckDB parses; DuckDB's own text unchanged."""
    found = _ISO.fullmatch(text)
    if found is None:
        return text
    return " ".join(f"{number} {unit}" for number, unit in zip(found.groups(), _UNITS, strict=True) if number)
