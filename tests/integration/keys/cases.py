"""Keys of every sort, on every pair of engines: what a key is declared as on both sides, and its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

M, P, S = "mariadb", "postgres", "sqlite"
ROWS = 20
CHANGED, MISSING, EXTRA = 7, 12, ROWS + 1

Values = Callable[[int], Any]


@dataclass(frozen=True)
class Keyed:
    """A key of some columns. `values` gives the i-th key, `there` as the target is given it, if that is another way.

    `constraint` is how it is declared: as a primary key, or as a unique one.
    """

    name: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    values: Values
    there: Values | None = None
    constraint: str = "PRIMARY KEY"


def both(name: str, declared: str, values: Values, **more: Any) -> Keyed:
    return Keyed(name, (declared,), (declared,), values, **more)


_WORDS = (
    *("a", "B", "c", "Z", "ä", "É", "é", "z", "_x", "10"),
    *("9", "A,b", "ß", "ss", "日本", "😀", "o", "Ö", "-", "~", "ø"),
)


def words(i: int) -> str:
    """Letters that sort differently by byte, without regard to case, and by language."""
    return f"{_WORDS[i - 1]}{i}"


def signed(i: int) -> int:
    return (i - 10) * 10**17


def around_zero(i: int) -> int:
    return i - 10


def uuid(i: int) -> UUID:
    return UUID(int=i * 0x0123456789ABCDEF0123456789ABCD % (1 << 128), version=4)


def day(i: int) -> str:
    return str(date(1969, 12, 25) + timedelta(days=i))


def moment(i: int) -> str:
    return str(datetime(2024, 10, 27, 0, 0, 0, 1) + timedelta(minutes=15 * i))


def pair_of(i: int) -> tuple[int, str]:
    return (i // 4 - 2, words(i))


COMPOSITE = "composite"

CASES: dict[tuple[str, str], Sequence[Keyed]] = {
    (M, M): (
        both("negative", "BIGINT", signed),
        both("unsigned", "BIGINT UNSIGNED", lambda i: 2**64 - i),
        both("decimal", "DECIMAL(30,10)", lambda i: f"{i - 10}.{i:010d}"),
        Keyed(COMPOSITE, ("INT", "VARCHAR(20)"), ("BIGINT", "VARCHAR(20)"), pair_of),
        both("same_collation", "VARCHAR(20) COLLATE utf8mb4_unicode_520_ci", words),
        Keyed(
            "other_collation",
            ("VARCHAR(20) COLLATE utf8mb4_general_ci",),
            ("VARCHAR(20) COLLATE utf8mb4_bin",),
            words,
        ),
        Keyed(
            "other_charset",
            ("VARCHAR(20) CHARACTER SET latin1",),
            ("VARCHAR(20) CHARACTER SET utf8mb4",),
            lambda i: f"é{i}",
        ),
        both("padded", "CHAR(10)", lambda i: f"k{i}"),
        both("uuid", "UUID", uuid),
        both("sixteen_bytes", "BINARY(16)", lambda i: uuid(i).bytes),
        both("bytes", "VARBINARY(20)", lambda i: bytes([i % 3, 255 - i, 0])),
        both("day", "DATE", day),
        both("moment", "DATETIME(6)", moment),
        both("instant", "TIMESTAMP(6)", moment),
        both("enum", "ENUM(" + ",".join(f"'e{i}'" for i in range(30, 0, -1)) + ")", lambda i: f"e{i}"),
        Keyed("unique_key", ("INT NOT NULL",), ("INT NOT NULL",), around_zero, constraint="UNIQUE"),
    ),
    (P, P): (
        both("negative", "bigint", signed),
        both("decimal", "numeric", lambda i: f"{i - 10}.{i:010d}"),
        Keyed(COMPOSITE, ("int", "text"), ("bigint", "varchar(20)"), pair_of),
        Keyed("wider", ("smallint",), ("numeric(10,2)",), around_zero),
        Keyed("other_collation", ('text COLLATE "C"',), ('text COLLATE "und-x-icu"',), words),
        both("same_collation", 'text COLLATE "und-x-icu"', words),
        both("code_points", 'varchar(20) COLLATE "C"', words),
        both("padded", "char(10)", lambda i: f"k{i}"),
        both("uuid", "uuid", uuid),
        both("bytes", "bytea", lambda i: bytes([i % 3, 255 - i, 0])),
        both("day", "date", day),
        both("moment", "timestamp", moment),
        both("instant", "timestamptz", moment),
        both("double", "double precision", lambda i: repr((i - 10) / 3)),
        both("array", "integer[]", lambda i: f"{{{i - 10},{i}}}"),
        Keyed("unique_key", ("int NOT NULL",), ("int NOT NULL",), around_zero, constraint="UNIQUE"),
    ),
    (M, P): (
        Keyed("negative", ("INT",), ("numeric",), around_zero),
        Keyed("unsigned", ("BIGINT UNSIGNED",), ("numeric(20)",), lambda i: 2**64 - i),
        Keyed(COMPOSITE, ("INT", "VARCHAR(20)"), ("bigint", "text"), pair_of),
        Keyed("text", ("VARCHAR(20) COLLATE utf8mb4_bin",), ("text",), words),
        Keyed("uuid", ("UUID",), ("uuid",), uuid),
        Keyed("uuid_text", ("CHAR(36)",), ("uuid",), lambda i: str(uuid(i)).upper(), uuid),
        Keyed("sixteen_bytes", ("BINARY(16)",), ("uuid",), lambda i: uuid(i).bytes, uuid),
        Keyed("bytes", ("VARBINARY(20)",), ("bytea",), lambda i: bytes([i % 3, 255 - i, 0])),
        Keyed("day", ("DATE",), ("date",), day),
        Keyed("moment", ("DATETIME(6)",), ("timestamp",), moment),
        Keyed("instant", ("TIMESTAMP(6)",), ("timestamptz",), moment),
        Keyed("unique_key", ("INT NOT NULL",), ("int",), around_zero, constraint="UNIQUE"),
    ),
    (S, P): (
        Keyed("negative", ("INTEGER",), ("bigint",), signed),
        Keyed("text", ("TEXT",), ("text",), words),
        Keyed(COMPOSITE, ("INT", "TEXT"), ("bigint", "text"), pair_of),
        Keyed("uuid_blob", ("BLOB",), ("uuid",), lambda i: uuid(i).bytes, uuid),
        Keyed("moment", ("DATETIME",), ("timestamp",), lambda i: moment(i).replace(" ", "T"), moment),
    ),
    (S, M): (
        Keyed("negative", ("INTEGER",), ("BIGINT",), signed),
        Keyed("text", ("TEXT",), ("VARCHAR(20) COLLATE utf8mb4_bin",), words),
        Keyed(COMPOSITE, ("INT", "TEXT"), ("INT", "VARCHAR(20) COLLATE utf8mb4_bin"), pair_of),
    ),
}
