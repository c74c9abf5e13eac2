"""Logical types: what a column holds, whatever the engine calls it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TypeName(StrEnum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    TEXT = "text"
    CHAR = "char"
    BINARY = "binary"
    DATE = "date"
    TIME = "time"
    TIMETZ = "timetz"
    TIMESTAMP = "timestamp"
    INSTANT = "instant"
    YEAR = "year"
    INTERVAL = "interval"
    BITS = "bits"
    ENUM = "enum"
    SET = "set"
    JSON = "json"
    UUID = "uuid"
    ARRAY = "array"
    OPAQUE = "opaque"
    UNKNOWN = "unknown"


SPARK_DIGITS = 38
"""The most digits of Spark's decimals."""


@dataclass(frozen=True, slots=True)
class LogicalType:
    """A type by meaning. `native` is the engine's own spelling, shown to people and never parsed.

    `precision` and `scale` are those of DECIMAL (None: unbounded), and of a float that the engine rounds to them; the
    fraction digits of temporal types, the length of text, CHAR, BINARY and BITS, the bits of INTEGER (all in
    `precision`). `values` are the labels of ENUM and SET. OPAQUE compares only with the same `native` type of the same
    engine, UNKNOWN with nothing: no exact form of its values can be read.
    """

    name: TypeName
    native: str
    precision: int | None = None
    scale: int | None = None
    unsigned: bool = False
    values: tuple[str, ...] = ()
    element: LogicalType | None = None
    engine: str = ""

    def __str__(self) -> str:
        return self.native

    def same_as(self, other: LogicalType) -> bool:
        """Whether two types, perhaps of two engines, hold the same values; their spelling aside."""
        if self.native == other.native:
            return True
        mine, theirs = ((t.name, t.precision, t.scale, t.unsigned, t.values) for t in (self, other))
        return mine == theirs and self.name is not TypeName.OPAQUE


def fits_spark(decimal: LogicalType) -> bool:
    """Whether Spark has the type: its decimals have 38 digits at most, and no more behind the point than they have."""
    return decimal.precision is not None and 0 <= (decimal.scale or 0) <= decimal.precision <= SPARK_DIGITS
