"""How PostgreSQL quotes, renders values exactly, and hashes."""

from __future__ import annotations

from tieout.connectors.base import HashSpec, Scan, ScanColumn
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.years import to_postgres
from tieout.connectors.sql import aggregate, reference
from tieout.model.kinds import Form
from tieout.model.tables import Column, TableName
from tieout.model.types import TypeName

_AS_TEXT = {
    TypeName.DECIMAL,
    TypeName.TIMETZ,
    TypeName.INTERVAL,
    TypeName.BITS,
    TypeName.ENUM,
    TypeName.JSON,
    TypeName.OPAQUE,
    # A CHAR(n) loses its padding on the way to text.
    TypeName.CHAR,
    TypeName.TEXT,
}

_NUMERIC = {TypeName.INTEGER, TypeName.DECIMAL}
_MOMENTS = {TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT}

# Not: what has no = (JSON, some opaque types); an array, whose canonical text is not PostgreSQL's; text beside
# another type, which may spell a value in several ways.
_FOUND = {
    Form.BOOLEAN: {TypeName.BOOLEAN},
    Form.INTEGER: {TypeName.INTEGER, TypeName.BOOLEAN},
    Form.DECIMAL: _NUMERIC,
    Form.NUMBER: _NUMERIC,
    Form.SCALED_NUMBER: _NUMERIC,
    Form.FLOAT32: {TypeName.FLOAT32},
    Form.FLOAT64: {TypeName.FLOAT32, TypeName.FLOAT64},
    Form.TEXT: {TypeName.TEXT, TypeName.CHAR, TypeName.ENUM, TypeName.TIMETZ},
    Form.BYTES: {TypeName.BINARY},
    Form.DATE: {TypeName.DATE},
    Form.TIMESTAMP: _MOMENTS,
    Form.TIME: {TypeName.TIME, TypeName.INTERVAL},
    Form.INTERVAL: {TypeName.INTERVAL},
    Form.UUID: {TypeName.UUID, TypeName.BINARY},
    Form.BITS: {TypeName.BITS},
}

# What a type is hashed by. Its own hash function would not do: that of NUMERIC ignores the sign and takes
# NaN for Infinity, that of INT8 and of moments folds 64 bits into 32, that of INTERVAL takes '1 month' for
# '30 days', that of JSONB repeats every 64 elements, that of an ENUM hashes an OID.
_SENT = {
    TypeName.INTEGER: "int8send({})",
    TypeName.DECIMAL: "numeric_send({})",
    TypeName.TIME: "time_send({})",
    TypeName.TIMETZ: "timetz_send({})",
    TypeName.TIMESTAMP: "timestamp_send({})",
    TypeName.INSTANT: "timestamptz_send({})",
    TypeName.INTERVAL: "interval_send({})",
    TypeName.ARRAY: "array_send({})",
    TypeName.FLOAT32: "{}",
    TypeName.FLOAT64: "{}",
    TypeName.BOOLEAN: "{}",
    TypeName.DATE: "{}",
    TypeName.UUID: "{}",
    TypeName.BINARY: "{}",
}


class PostgresDialect:
    def quote(self, name: str) -> str:
        return quoting.name(name)

    def table(self, name: TableName) -> str:
        return quoting.table(name)

    def wire(self, column: ScanColumn, reference: str) -> str:
        name = column.column.type.name
        if name is TypeName.ARRAY:
            return self._array(column, reference)
        if name is TypeName.BITS and column.kind.form is Form.INTEGER:
            return _bits_as_integer(column.column.type.precision, reference)
        return f"{_plain(column.column, reference)}::text" if name in _AS_TEXT else reference

    def _array(self, column: ScanColumn, reference: str) -> str:
        if column.kind.form is Form.JSON:
            return f"to_json({reference})::text"
        if column.kind.form is Form.OPAQUE:
            return f"{reference}::text"
        element = column.column.type.element
        # As text, a JSON null in an array is not the array's own NULL, and a CHAR has lost its padding.
        as_text = element is not None and element.name in (TypeName.JSON, TypeName.CHAR)
        array = f"json_build_array(array_dims({reference}), {reference}{'::text[]' if as_text else ''})"
        return f"CASE WHEN {reference} IS NOT NULL THEN {array}::text END"

    def literal(self, column: Column, text: str) -> str:
        if column.type.name in _NUMERIC and text.isascii() and text.removeprefix("-").replace(".", "", 1).isdigit():
            return text
        if column.type.name is TypeName.BINARY:
            return quoting.octets(bytes.fromhex(text.removeprefix("0x").replace("-", "")))
        if column.type.name in _MOMENTS:
            text = to_postgres(text)
        return quoting.text(text)

    def finds(self, column: ScanColumn) -> bool:
        return column.column.type.name in _FOUND.get(column.kind.form, ())

    def digest(self, scan: Scan, condition: str, spec: HashSpec) -> str:
        """Count and sums (as text) of one or two 64-bit hashes of each row."""
        if spec.native:
            each = f"ROW({', '.join(self._sent(c) for c in scan.columns)})"
            lanes = [_native_lane(seed) for seed in (spec.seed, spec.seed ^ 0x5BD1E995)[: spec.bits // 64]]
        else:
            each = self._sha256(scan)
            lanes = [f"('x' || substr({{}}, {start}, 16))::bit(64)::int8" for start in (1, 17)]
        if len(lanes) == 1:
            return aggregate(self, scan, condition, f"count(*), {_sum(lanes[0].format(each))}")
        # OFFSET 0 keeps the planner from computing it for each of the sums.
        once = aggregate(self, scan, condition, f"{each} AS h")
        sums = ", ".join(_sum(lane.format("h")) for lane in lanes)
        return f"SELECT count(*), {sums} FROM ({once} OFFSET 0) AS once"

    def _sha256(self, scan: Scan) -> str:
        parts = []
        for column in scan.columns:
            text = f"({self._text(column)})"
            parts.append(f"CASE WHEN {text} IS NULL THEN 'N' ELSE octet_length({text}) || ':' || {text} END")
        return f"encode(sha256(convert_to({' || '.join(parts)}, 'UTF8')), 'hex')"

    def _sent(self, column: ScanColumn) -> str:
        name, precision = column.column.type.name, column.column.type.precision
        if name is TypeName.INTEGER and precision is not None and precision <= 32:
            return reference(self, column)
        # Under a collation that ignores case, text that differs in case alone would hash the same.
        return _SENT.get(name, '({}::text COLLATE "C")').format(_plain(column.column, reference(self, column)))

    def _text(self, column: ScanColumn) -> str:
        """Canonical text for hashing in SQL: two equal values give the same on every PostgreSQL server."""
        value, name = _plain(column.column, reference(self, column)), column.column.type.name
        if name in (TypeName.FLOAT32, TypeName.FLOAT64):
            # One zero; NaN is one already.
            return f"CASE WHEN {value} = 0 THEN '0' ELSE {value}::text END"
        if name is TypeName.DECIMAL and column.kind.form is not Form.SCALED_NUMBER:
            return f"trim_scale({value})::text"
        return f"{value}::text"


def _plain(column: Column, reference: str) -> str:
    # The text of MONEY is in the server's currency.
    return f"{reference}::numeric" if column.type.native == "money" else reference


def _bits_as_integer(bits: int | None, reference: str) -> str:
    """The bits as a number without sign: the 64th would be one."""
    if bits != 64:
        return f"{reference}::int8"
    number = f"{reference}::int8::numeric"
    return f"(CASE WHEN {reference}::int8 < 0 THEN {number} + 18446744073709551616 ELSE {number} END)::text"


def _native_lane(seed: int) -> str:
    # The hash of a record is linear in those of its fields: a value that moved to another row would cancel in
    # the sum. Hashed once more, it does not.
    return f"hashtextextended(hash_record_extended({{}}, {seed:d})::text, {seed:d})"


def _sum(lane: str) -> str:
    return f"coalesce(sum({lane}), 0)::text"
