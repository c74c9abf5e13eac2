"""Which columns take the values of which other ones, each as it is."""

from __future__ import annotations

import pytest

from tieout.model.types import LogicalType, TypeName
from tieout.tasks.type_fit import misfit

T = TypeName


def kind(name: TypeName, native: str, precision: int | None = None, scale: int | None = None) -> LogicalType:
    return LogicalType(name, native, precision, scale)


TEXT, CHAR, BYTES = kind(T.TEXT, "text"), kind(T.CHAR, "char(3)", 3), kind(T.BINARY, "bytea")
NUMERIC, DATE = kind(T.DECIMAL, "numeric"), kind(T.DATE, "date", 0)
MICROS, MILLIS = kind(T.TIMESTAMP, "timestamp(6)", 6), kind(T.TIMESTAMP, "datetime(3)", 3)
INET, MONEY = LogicalType(T.OPAQUE, "inet", engine="postgres"), LogicalType(T.OPAQUE, "money", engine="postgres")
SIZES = LogicalType(T.ENUM, "enum('s','m')", values=("s", "m"))
MORE_SIZES = LogicalType(T.ENUM, "sizes", values=("m", "l", "s"))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (TEXT, kind(T.TEXT, "varchar(3)", 3)),
        (INET, TEXT),
        (INET, INET),
        (MONEY, kind(T.DECIMAL, "decimal(20,2)", 20, 2)),
        (NUMERIC, kind(T.DECIMAL, "decimal(65,30)", 65, 30)),
        (kind(T.DECIMAL, "numeric(9,2)", 9, 2), NUMERIC),
        (kind(T.DECIMAL, "numeric(20,0)", 20, 0), kind(T.INTEGER, "bigint", 64)),
        (MILLIS, MICROS),
        (DATE, MILLIS),
        (kind(T.INTERVAL, "interval"), kind(T.TIME, "time(6)", 6)),
        (kind(T.UUID, "uuid"), kind(T.CHAR, "char(36)", 36)),
        (kind(T.UUID, "uuid"), kind(T.BINARY, "binary(16)", 16)),
        (kind(T.BINARY, "binary(8)", 8), kind(T.BINARY, "binary(8)", 8)),
        (SIZES, MORE_SIZES),
        (kind(T.BOOLEAN, "boolean"), kind(T.BITS, "bit(1)", 1)),
        (kind(T.BITS, "bit(8)", 8), kind(T.INTEGER, "smallint", 16)),
    ],
    ids=str,
)
def test_what_fits(source: LogicalType, target: LogicalType) -> None:
    assert misfit(source, target, same_engine=False) is None


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (BYTES, TEXT, "no common exact form"),
        (TEXT, BYTES, "no common exact form"),
        (TEXT, CHAR, "drops trailing spaces"),
        (INET, kind(T.INTEGER, "bigint", 64), "compared only with the same type"),
        (kind(T.DECIMAL, "numeric(9,3)", 9, 3), kind(T.DECIMAL, "decimal(9,2)", 9, 2), "fractional digits"),
        (kind(T.DECIMAL, "numeric(9,3)", 9, 3), kind(T.INTEGER, "bigint", 64), "fractional digits"),
        (NUMERIC, kind(T.INTEGER, "bigint", 64), "fractional digits"),
        (kind(T.FLOAT64, "double"), kind(T.FLOAT32, "float"), "fewer digits than"),
        (MICROS, MILLIS, "fractional digits of a second"),
        (TEXT, MILLIS, "fractional digits of a second"),
        (MICROS, DATE, "no time of day"),
        (kind(T.INTEGER, "smallint", 16), kind(T.YEAR, "year(4)"), "2005"),
        (kind(T.INTEGER, "smallint", 16), kind(T.BITS, "bit(8)", 8), "of its own length"),
        (kind(T.BITS, "bit(8)", 8), kind(T.BITS, "bit(9)", 9), "of its own length"),
        (kind(T.BITS, "bit varying(8)", None), kind(T.BITS, "bit(8)", 8), "of its own length"),
        (BYTES, kind(T.BINARY, "binary(8)", 8), "pads values"),
        (MORE_SIZES, SIZES, "lacks values"),
        (TEXT, SIZES, "lacks values"),
    ],
    ids=str,
)
def test_what_does_not_fit(source: LogicalType, target: LogicalType, reason: str) -> None:
    assert reason in (misfit(source, target, same_engine=False) or "")


def test_a_number_of_any_size_between_servers_of_postgresql() -> None:
    """There it would be rounded without a word."""
    assert misfit(NUMERIC, kind(T.DECIMAL, "numeric(9,2)", 9, 2), same_engine=True) is not None
