"""A wide table that Parquet files and databases hold alike, and single faults in it."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

MARIADB, POSTGRES, SQLITE = "mariadb", "postgres", "sqlite"
KEYS = range(-3, 57)

Row = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """`types` maps a database to its type; one that is missing can't hold the values."""

    name: str
    arrow: pa.DataType
    types: Mapping[str, str]


def _on(mariadb: str, postgres: str, sqlite: str | None) -> dict[str, str]:
    types = {MARIADB: mariadb, POSTGRES: postgres, SQLITE: sqlite}
    return {engine: declared for engine, declared in types.items() if declared is not None}


COLUMNS = (
    Column("id", pa.int64(), _on("BIGINT PRIMARY KEY", "bigint PRIMARY KEY", "INTEGER PRIMARY KEY")),
    Column("n", pa.int32(), _on("INT", "integer", "INT")),
    Column("big", pa.int64(), _on("BIGINT", "bigint", "BIGINT")),
    # Spark reads Parquet's unsigned 64 bits as this, too.
    Column("ubig", pa.decimal128(20, 0), _on("BIGINT UNSIGNED", "numeric(20)", None)),
    Column("dec", pa.decimal128(38, 15), _on("DECIMAL(38,15)", "numeric(38,15)", None)),
    Column("single", pa.float32(), _on("FLOAT", "real", "REAL")),
    Column("double", pa.float64(), _on("DOUBLE", "double precision", "DOUBLE")),
    Column("txt", pa.string(), _on("VARCHAR(80)", "text", "TEXT")),
    Column("txt2", pa.string(), _on("VARCHAR(80)", "varchar(80)", "TEXT")),
    Column("raw", pa.binary(), _on("VARBINARY(80)", "bytea", "BLOB")),
    Column("day", pa.date32(), _on("DATE", "date", "DATE")),
    Column("moment", pa.timestamp("us"), _on("DATETIME(6)", "timestamp", "DATETIME")),
    Column("instant", pa.timestamp("us", "UTC"), _on("TIMESTAMP(6) NULL", "timestamptz", "TIMESTAMPTZ")),
    Column("truth", pa.bool_(), _on("TINYINT(1)", "boolean", "BOOLEAN")),
    Column("doc", pa.string(), _on("JSON", "jsonb", "JSON")),
)


def single(value: float, *, up: int = 0) -> float:
    """The nearest 32-bit float, or one `up` steps above it."""
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    return float(struct.unpack("<f", struct.pack("<i", bits + up))[0])


_NIGHT = datetime(2024, 10, 27, 0, 30, tzinfo=UTC)  # an hour later it is the same time of day in Berlin


def wide_rows() -> dict[int, Row]:
    """Rows by key, with values that have been read wrongly somewhere before, and NULLs in every column."""
    return {key: _row(key) for key in KEYS}


def _row(key: int) -> Row:
    texts = (
        "plain",
        "",
        None,
        "trailing ",
        "Case",
        "case",
        "é",
        "e\u0301",
        "😀",
        "it's",
        'say "it"',
        "back\\slash",
        "NULL",
    )
    row: Row = {
        "id": key,
        "n": (0, -1, 2**31 - 1, -(2**31), key)[key % 5],
        "big": (0, 2**63 - 1, -(2**63), key)[key % 4],
        "ubig": Decimal((0, 2**64 - 1, 2**63)[key % 3]),
        "dec": Decimal(("0", "-0.000000000000001", "99999999999999999999999.999999999999999", "1.5")[key % 4]),
        "single": single((0.0, -0.0, 0.1, 3.4028234663852886e38, 1e-45)[key % 5]),
        "double": (0.0, -0.0, 0.1, 5e-324, -1.7976931348623157e308, 1 / 3)[key % 6],
        "txt": texts[key % len(texts)],
        "txt2": texts[key * 5 % len(texts)],
        "raw": (b"plain", b"", b"\0", b"\xff\xfe", b"a\0b")[key % 5],
        "day": (date(2024, 2, 29), date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31))[key % 4],
        "moment": datetime(2024, 10, 27, 2, 30) + timedelta(microseconds=key),
        "instant": _NIGHT + timedelta(hours=key % 3, microseconds=key % 2),
        "truth": key % 2 == 0,
        "doc": ('{"b": 1, "a": [1.10, null, true]}', "9007199254740993", '""', "null", "{}")[key % 5],
    }
    empty = COLUMNS[1 + key % (len(COLUMNS) - 1)].name
    return {**row, empty: None} if key % 4 == 3 else row


@dataclass(frozen=True)
class Fault:
    """`both` is written to both sides, `target` to the target alone; keys map to values of columns.

    `found` are the differences that must be reported, and no other: kind, key, and both texts of each column.
    """

    name: str
    found: frozenset[tuple[str, int, frozenset[tuple[str, str | None, str | None]]]]
    both: Mapping[int, Row] = field(default_factory=dict)
    target: Mapping[int, Row] = field(default_factory=dict)
    lost: frozenset[int] = frozenset()
    extra: frozenset[int] = frozenset()

    @property
    def columns(self) -> set[str]:
        return {column for edits in (self.both, self.target) for row in edits.values() for column in row}

    def sides(self, first: int = 0) -> tuple[list[Row], list[Row]]:
        """The table with the fault, its keys moved up by `first`."""
        rows = {key: {**row, **self.both.get(key, {}), "id": first + key} for key, row in wide_rows().items()}
        source = [row for key, row in rows.items() if key not in self.extra]
        target = [{**row, **self.target.get(key, {})} for key, row in rows.items() if key not in self.lost]
        return source, target


@dataclass(frozen=True)
class Crowd:
    """Many faults in one table, each among rows of its own: a hundred keys to each."""

    faults: tuple[Fault, ...]

    def sides(self) -> tuple[list[Row], list[Row]]:
        pairs = [fault.sides(100 * number) for number, fault in enumerate(self.faults)]
        source, target = ([row for side in sides for row in side] for sides in zip(*pairs, strict=True))
        return source, target

    def found(self, fault: Fault) -> frozenset[Any]:
        first = 100 * self.faults.index(fault)
        return frozenset((kind, first + key, columns) for kind, key, columns in fault.found)

    def of(self, fault: Fault, found: frozenset[Any]) -> frozenset[Any]:
        """Those of the differences that are among the rows of one fault."""
        first = 100 * self.faults.index(fault)
        return frozenset(difference for difference in found if first - 10 <= difference[1] < first + 90)


def changed(key: int, **columns: tuple[str | None, str | None]) -> Any:
    return "changed", key, frozenset((name, *texts) for name, texts in columns.items())


def _one(name: str, column: str, before: Any, after: Any, texts: tuple[str | None, str | None]) -> Fault:
    return Fault(name, frozenset({changed(5, **{column: texts})}), {5: {column: before}}, {5: {column: after}})


_NOON = datetime(2024, 5, 5, 10)
_NOON_UTC = _NOON.replace(tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_NOTHING: frozenset[tuple[str, str | None, str | None]] = frozenset()

FAULTS = (
    _one("changed value", "n", 41, 42, ("41", "42")),
    _one("NULL to empty", "txt", None, "", (None, "")),
    _one("NULL to zero", "n", None, 0, (None, "0")),
    _one("trailing space", "txt", "abc", "abc ", ("abc", "abc ")),
    _one("case of a letter", "txt", "Straße", "straße", ("Straße", "straße")),
    _one("last bit of a DOUBLE", "double", 0.1, math.nextafter(0.1, 1), ("0.1", "0.10000000000000002")),
    _one("last bit of a FLOAT", "single", single(0.1), single(0.1, up=1), ("0.1", "0.10000001")),
    _one("tenth decimal", "dec", Decimal("0.1234567891"), Decimal("0.1234567892"), ("0.1234567891", "0.1234567892")),
    _one(
        "fifteenth decimal",
        "dec",
        Decimal("12345678901234567890123.123456789012345"),
        Decimal("12345678901234567890123.123456789012346"),
        ("12345678901234567890123.123456789012345", "12345678901234567890123.123456789012346"),
    ),
    _one("one microsecond", "moment", _NOON, _NOON + _MICRO, ("2024-05-05 10:00:00", "2024-05-05 10:00:00.000001")),
    _one(
        "one microsecond of an instant",
        "instant",
        _NOON_UTC,
        _NOON_UTC + _MICRO,
        ("2024-05-05 10:00:00", "2024-05-05 10:00:00.000001"),
    ),
    _one(
        "one hour of time zone",
        "instant",
        _NIGHT,
        _NIGHT + timedelta(hours=1),
        ("2024-10-27 00:30:00", "2024-10-27 01:30:00"),
    ),
    _one(
        "unsigned above 2^63",
        "ubig",
        Decimal(2**63 + 1),
        Decimal(2**63 + 2),
        ("9223372036854775809", "9223372036854775810"),
    ),
    _one(
        "JSON integer above 2^53",
        "doc",
        '{"n": 9007199254740993}',
        '{"n": 9007199254740992}',
        ('{"n":9007199254740993}', '{"n":9007199254740992}'),
    ),
    _one("a byte", "raw", b"a\0b", b"a\0c", ("0x610062", "0x610063")),
    Fault("lost row", frozenset({("missing", 7, _NOTHING)}), lost=frozenset({7})),
    Fault("extra row", frozenset({("extra", 7, _NOTHING)}), extra=frozenset({7})),
    Fault(
        "values exchanged between two keys",
        frozenset({changed(10, txt=("one", "two")), changed(11, txt=("two", "one"))}),
        {10: {"txt": "one"}, 11: {"txt": "two"}},
        {10: {"txt": "two"}, 11: {"txt": "one"}},
    ),
    Fault(
        "the same change made to two rows",
        frozenset({changed(12, txt=("before", "after")), changed(13, txt=("before", "after"))}),
        {12: {"txt": "before"}, 13: {"txt": "before"}},
        {12: {"txt": "after"}, 13: {"txt": "after"}},
    ),
    Fault(
        "text moved to the neighbour",
        frozenset({changed(5, txt=("ab", "a"), txt2=("c", "bc"))}),
        {5: {"txt": "ab", "txt2": "c"}},
        {5: {"txt": "a", "txt2": "bc"}},
    ),
    Fault(
        "all of a text moved to the neighbour",
        frozenset({changed(5, txt=("abc", None), txt2=(None, "abc"))}),
        {5: {"txt": "abc", "txt2": None}},
        {5: {"txt": None, "txt2": "abc"}},
    ),
    Fault("zero has no sign", frozenset(), {5: {"double": 0.0}}, {5: {"double": -0.0}}),
    Fault("nothing", frozenset()),
)
