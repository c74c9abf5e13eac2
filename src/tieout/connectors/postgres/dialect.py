"""How PostgreSQL quotes, renders values exactly, and hashes."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.connectors.postgres import literals, quoting
from tieout.connectors.postgres.literals import MOMENTS, NUMBER
from tieout.connectors.protocols.endpoint import HashSpec, Scan, ScanColumn
from tieout.connectors.protocols.repair import Refused
from tieout.connectors.sql.dialect import Dialect
from tieout.connectors.sql.select import aggregate, reference
from tieout.errors import UnsupportedError
from tieout.model.canonical_kinds import Form
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

# Without types that have no = (JSON, some opaque types), arrays (their canonical text is not PostgreSQL's), and text
# that is compared with another type, which may spell a value in several ways.
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
    Form.TIMESTAMP: MOMENTS,
    Form.TIME: {TypeName.TIME, TypeName.INTERVAL},
    Form.INTERVAL: {TypeName.INTERVAL},
    Form.UUID: {TypeName.UUID, TypeName.BINARY},
    Form.BITS: {TypeName.BITS},
}

# The expression that is hashed for a type. The types' own hash functions are not good enough: NUMERIC's ignores the
# sign and gives NaN and Infinity the same hash, those of INT8 and of moments fold 64 bits into 32, INTERVAL's gives
# '1 month' and '30 days' the same hash, JSONB's repeats every 64 elements, ENUM's hashes an OID.
_SENT = {
    TypeName.INTEGER: "pg_catalog.int8send({})",
    TypeName.DECIMAL: "pg_catalog.numeric_send({})",
    TypeName.TIME: "pg_catalog.time_send({})",
    TypeName.TIMETZ: "pg_catalog.timetz_send({})",
    TypeName.TIMESTAMP: "pg_catalog.timestamp_send({})",
    TypeName.INSTANT: "pg_catalog.timestamptz_send({})",
    TypeName.INTERVAL: "pg_catalog.interval_send({})",
    TypeName.ARRAY: "pg_catalog.array_send({})",
    TypeName.FLOAT32: "{}",
    TypeName.FLOAT64: "{}",
    TypeName.BOOLEAN: "{}",
    TypeName.DATE: "{}",
    TypeName.UUID: "{}",
    TypeName.BINARY: "{}",
}


# With their schema: statements that contain users' SQL run with the user's search_path.
_TEXT, _INT8 = "pg_catalog.text", "pg_catalog.int8"
_COUNT = "pg_catalog.count(*)"
_AND = "OPERATOR(pg_catalog.||)"


class PostgresDialect(Dialect):
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
        return f"{_plain(column.column, reference)}::{_TEXT}" if name in _AS_TEXT else reference

    def _array(self, column: ScanColumn, reference: str) -> str:
        if column.kind.form is Form.JSON:
            return f"pg_catalog.to_json({reference})::{_TEXT}"
        if column.kind.form is Form.OPAQUE:
            return f"{reference}::{_TEXT}"
        element = column.column.type.element
        # As text, a JSON null in an array is not the array's own NULL, and a CHAR has lost its padding.
        as_text = element is not None and element.name in (TypeName.JSON, TypeName.CHAR)
        values = f"{reference}::{_TEXT}[]" if as_text else reference
        array = f"pg_catalog.json_build_array(pg_catalog.array_dims({reference}), {values})"
        return f"CASE WHEN {reference} IS NOT NULL THEN {array}::{_TEXT} END"

    def literal(self, column: Column, text: str) -> str:
        return literals.literal(column, text)

    def compared(self, column: Column, left: str, sign: str, right: str) -> str:
        schema = "pg_catalog" if column.operators is None else quoting.name(column.operators)
        return f"{left} OPERATOR({schema}.{sign}) {right}"

    def differ(self, column: Column, left: str, right: str) -> str:
        """IS DISTINCT FROM, without the operator that its search_path would find."""
        if column.operators is None:
            return f"{left} IS DISTINCT FROM {right}"
        unlike = f"NOT ({self.compared(column, left, '=', right)})"
        nulls = f"({left} IS NULL) <> ({right} IS NULL)"
        return f"(CASE WHEN {left} IS NULL OR {right} IS NULL THEN {nulls} ELSE {unlike} END)"

    def among(self, scan: Scan, column: Column, values: Sequence[str]) -> str:
        name = self.quote(column.name)
        # IN uses the operator that the search_path finds, too.
        if column.operators is None and not of_users(scan):
            return f"{name} IN ({', '.join(values)})"
        return "(" + " OR ".join(self.compared(column, name, "=", value) for value in values) + ")"

    def finds(self, column: ScanColumn) -> bool:
        return column.column.type.name in _FOUND.get(column.kind.form, ())

    def digest(self, scan: Scan, condition: str, spec: HashSpec) -> str:
        """SQL for the count of rows and the sums (as text) of one or two 64-bit hashes of each row."""
        if spec.native:
            each = f"ROW({', '.join(self._sent(c) for c in scan.columns)})"
            lanes = [_native_lane(seed) for seed in (spec.seed, spec.seed ^ 0x5BD1E995)[: spec.bits // 64]]
        else:
            each = self._sha256(scan)
            lanes = [f"('x' {_AND} pg_catalog.substr({{}}, {start}, 16))::bit(64)::{_INT8}" for start in (1, 17)]
        if len(lanes) == 1:
            return aggregate(self, scan, condition, f"{_COUNT}, {_sum(lanes[0].format(each))}")
        # OFFSET 0 keeps the planner from computing the hash once for each sum.
        once = aggregate(self, scan, condition, f"{each} AS h")
        sums = ", ".join(_sum(lane.format("h")) for lane in lanes)
        return f"SELECT {_COUNT}, {sums} FROM ({once} OFFSET 0) AS once"

    def _sha256(self, scan: Scan) -> str:
        parts = []
        for column in scan.columns:
            text = f"({self._text(column)})"
            sized = f"pg_catalog.octet_length({text}) {_AND} ':' {_AND} {text}"
            parts.append(f"CASE WHEN {text} IS NULL THEN 'N' ELSE {sized} END")
        octets = f"pg_catalog.convert_to({f' {_AND} '.join(parts)}, 'UTF8')"
        return f"pg_catalog.encode(pg_catalog.sha256({octets}), 'hex')"

    def _sent(self, column: ScanColumn) -> str:
        name, precision = column.column.type.name, column.column.type.precision
        if name is TypeName.INTEGER and precision is not None and precision <= 32:
            return reference(self, column)
        # Under a case-insensitive collation, texts that differ only in case would have the same hash.
        sent = _SENT.get(name, '({}::pg_catalog.text COLLATE pg_catalog."C")')
        return sent.format(_plain(column.column, reference(self, column)))

    def _text(self, column: ScanColumn) -> str:
        """Canonical text for hashing in SQL: equal values give the same text on every PostgreSQL server."""
        value, name = _plain(column.column, reference(self, column)), column.column.type.name
        if name in (TypeName.FLOAT32, TypeName.FLOAT64):
            # 0 and -0 are one; so are all NaNs, already.
            return f"CASE WHEN {value} OPERATOR(pg_catalog.=) 0 THEN '0' ELSE {value}::{_TEXT} END"
        if name is TypeName.DECIMAL and column.kind.form is not Form.SCALED_NUMBER:
            return f"pg_catalog.trim_scale({value})::{_TEXT}"
        return f"{value}::{_TEXT}"


_INTEGERS = ("smallint", "integer", "bigint")
_INT8_DIGITS = 18
_EXACT = ("text", "uuid", "date", "boolean", "bytea", "real", "double precision", *_INTEGERS)
"""Types that have operators of their own, for two values of the same type."""


class PostgresChangeDialect(PostgresDialect):
    """For statements that change rows."""

    def value(self, column: Column, text: str) -> str:
        try:
            return literals.literal(column, text)
        except UnsupportedError as error:
            raise Refused(error.message) from None

    def compared(self, column: Column, left: str, sign: str, right: str) -> str:
        """A plain operator where nobody can have created one that fits better than the server's: people read these."""
        is_own = column.operators is None and (
            (column.type.native in _EXACT and right.startswith("'"))
            or (column.type.native in _INTEGERS and NUMBER.fullmatch(right) is not None and len(right) <= _INT8_DIGITS)
        )
        return f"{left} {sign} {right}" if is_own else super().compared(column, left, sign, right)


def of_users(scan: Scan) -> bool:
    """True if it contains users' SQL: a condition or an expression."""
    return scan.where is not None or any(column.expression for column in scan.columns)


def _plain(column: Column, reference: str) -> str:
    # The text of MONEY is in the server's currency.
    return f"{reference}::numeric" if column.type.native == "money" else reference


def _bits_as_integer(bits: int | None, reference: str) -> str:
    """The bits as an unsigned number: the 64th would be the sign."""
    if bits != 64:
        return f"{reference}::{_INT8}"
    number = f"{reference}::{_INT8}::numeric"
    above = f"{number} OPERATOR(pg_catalog.+) 18446744073709551616"
    is_negative = f"{reference}::{_INT8} OPERATOR(pg_catalog.<) 0"
    return f"(CASE WHEN {is_negative} THEN {above} ELSE {number} END)::{_TEXT}"


def _native_lane(seed: int) -> str:
    # The hash of a record is linear in the hashes of its fields, so a value that moved to another row would cancel out
    # in the sum. Hashing the result once more prevents that.
    once = f"pg_catalog.hash_record_extended({{}}, {seed:d})::{_TEXT}"
    return f"pg_catalog.hashtextextended({once}, {seed:d})"


def _sum(lane: str) -> str:
    return f"coalesce(pg_catalog.sum({lane}), 0)::{_TEXT}"
