"""Types of columns, with values at their edges, and how the server is asked to print them as the log's reader does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """Values are SQL. `shown` is the SQL that prints the column `c`, `seen` prints what the reader made of it."""

    type: str
    values: tuple[str, ...]
    shown: str = "CAST(c AS CHAR)"
    seen: Callable[[Any], Any] = str


def _cases(types: list[str], values: list[str], **how: Any) -> list[Case]:
    return [Case(type_, tuple(values), **how) for type_ in types]


def _number(value: float) -> float:
    return value


_TIMES = [
    "'00:00:00'",
    "'838:59:59'",
    "'-838:59:59'",
    "'-00:00:01'",
    "'-00:00:00.1'",
    "'-00:00:00.000001'",
    "'-00:00:01.999999'",
    "'-01:00:00.01'",
    "'-10:59:59.5'",
    "'23:59:59.999999'",
    "'100:00:00.123456'",
    "'838:59:58.999999'",
    "'-838:59:58.999999'",
]
_DATETIMES = [
    "'0000-00-00 00:00:00'",
    "'2024-00-00 00:00:00'",
    "'2024-02-00 11:12:13'",
    "'1000-01-01 00:00:00'",
    "'0001-01-01 00:00:01'",
    "'9999-12-31 23:59:59.999999'",
    "'2024-02-29 12:34:56.789012'",
    "'1999-12-31 23:59:59.000001'",
    "'2024-12-31 01:02:03.1'",
]
_TIMESTAMPS = [
    "'0000-00-00 00:00:00'",
    "'1970-01-01 00:00:01'",
    "'2038-01-19 03:14:07'",
    "'2024-02-29 12:34:56.789012'",
    "'2001-09-09 01:46:40.000001'",
    "'1999-12-31 23:59:59.999999'",
]
_DECIMALS = [(1, 0), (2, 2), (5, 0), (5, 2), (9, 0), (9, 9), (10, 0), (10, 3), (12, 2), (18, 9), (19, 4), (20, 19)]
_DECIMALS += [(30, 30), (38, 10), (38, 38), (65, 0), (65, 30), (65, 38), (7, 5), (14, 7), (17, 8), (23, 14)]


def _decimal(precision: int, scale: int) -> Case:
    whole, fraction = precision - scale, scale
    most = "9" * whole + ("." + "9" * fraction if fraction else "")
    least = "0." + "0" * (fraction - 1) + "1" if fraction else "1"
    digits = ("1234567890" * 7)[:whole] + ("." + ("9081726354" * 7)[:fraction] if fraction else "")
    one = "1" if whole else "0.1"
    values = [most, f"-{most}", least, f"-{least}", digits, f"-{digits}", one, f"-{one}", "0", "-0.0", "-0.00000000001"]
    return Case(f"DECIMAL({precision},{scale})", tuple(values))


NUMBERS = [
    *_cases(["TINYINT", "BOOLEAN"], ["-128", "-1", "0", "1", "127"]),
    *_cases(["TINYINT UNSIGNED"], ["0", "127", "128", "255"]),
    *_cases(["SMALLINT"], ["-32768", "-1", "0", "32767"]),
    *_cases(["SMALLINT UNSIGNED"], ["0", "32768", "65535"]),
    *_cases(["MEDIUMINT"], ["-8388608", "-65537", "-1", "0", "1", "65536", "8388607"]),
    *_cases(["MEDIUMINT UNSIGNED"], ["0", "65535", "8388608", "16777215"]),
    *_cases(["INT"], ["-2147483648", "-1", "0", "2147483647"]),
    *_cases(["INT UNSIGNED", "INT(8) ZEROFILL"], ["0", "2147483648", "4294967295"], shown="CAST(c + 0 AS CHAR)"),
    *_cases(["BIGINT"], ["-9223372036854775808", "-1", "0", "9223372036854775807"]),
    *_cases(["BIGINT UNSIGNED"], ["0", "9223372036854775808", "18446744073709551615"]),
    *_cases(
        ["FLOAT"],
        ["0", "-1.5", "0.1", "3.4028234e38", "-3.4028234e38", "1.17549435e-38", "1e-44", "16777217"],
        shown="CAST(c AS DOUBLE)",
        seen=_number,
    ),
    *_cases(
        ["DOUBLE", "DOUBLE(20,3)", "DOUBLE UNSIGNED"],
        ["0", "0.1", "1.7976931348623157e308", "2.2250738585072014e-308", "5e-324", "9007199254740993", "-0.3"],
        shown="c * 1e0",  # without it, no more decimals than the type has
        seen=_number,
    ),
    *(_decimal(*size) for size in _DECIMALS),
    Case("DECIMAL(8,3) UNSIGNED", ("0", "99999.999", "0.001")),
    *(
        Case(
            f"BIT({size})",
            ("0", "1", f"{(1 << size) - 1}", f"{(1 << size) * 2 // 3}"),
            f"LPAD(BIN(c + 0), {size}, '0')",
        )
        for size in (1, 7, 8, 9, 15, 16, 17, 24, 31, 33, 40, 41, 48, 56, 63, 64)
    ),
]

TEMPORAL = [
    Case("YEAR", ("0", "1901", "2024", "2155"), "c + 0"),
    Case("DATE", ("'0000-00-00'", "'2024-00-00'", "'2024-02-00'", "'0001-01-01'", "'9999-12-31'", "'2024-02-29'")),
    *(case for digits in range(7) for case in _cases([f"DATETIME({digits})"], _DATETIMES)),
    *(case for digits in range(7) for case in _cases([f"TIME({digits})"], _TIMES)),
    *(case for digits in range(7) for case in _cases([f"TIMESTAMP({digits}) NULL"], _TIMESTAMPS)),
]

_WORDS = {
    "utf8mb4": "añ€漢😀",
    "utf8mb3": "añ€漢",
    "latin1": "añ€ÿ",
    "ascii": "az~",
    "ucs2": "añ€漢",
    "utf16": "añ€漢😀",
    "utf16le": "añ€漢😀",
    "utf32": "añ€漢😀",
    "cp1250": "aŁ€ż",
    "cp1251": "aЖ€я",
    "cp1256": "aپ€ے",
    "cp1257": "aŲ€ż",
    "cp850": "añ½",
    "cp852": "aŁż",
    "cp866": "aЖя",
    "koi8r": "aЖя",
    "koi8u": "aЖї",
    "latin2": "aŁż",
    "latin5": "añş",
    "latin7": "aŲž",
    "greek": "aΩώ",
    "hebrew": "aאת",
    "macroman": "añΩ",
    "tis620": "aกฮ",
    "sjis": "a漢ｱ〜",
    "cp932": "a漢ｱ①～",
    "gbk": "a漢龥",
    "gb2312": "a汉啊",
    "big5": "a漢碁",
    "euckr": "a한힣",
    "ujis": "a漢ｱ黸",
    "eucjpms": "a漢ｱ①～",
}


def _texts(charset: str) -> tuple[str, ...]:
    word = f"CONVERT('{_WORDS[charset]}' USING {charset})"
    return (word, "''", "'  a  '", f"REPEAT({word}, 10)", "'a\\tb'")


TEXT = [
    *(Case(f"{kind} CHARACTER SET {charset}", _texts(charset), "c") for charset in _WORDS for kind in ("VARCHAR(60)",)),
    *(Case(f"CHAR(60) CHARACTER SET {charset}", _texts(charset), "c") for charset in ("utf8mb4", "latin1", "utf16")),
    *(Case(f"TEXT CHARACTER SET {charset}", _texts(charset), "c") for charset in ("utf8mb4", "latin1", "sjis")),
    Case("CHAR(255)", ("REPEAT('漢', 255)", "REPEAT('x', 255)", "''"), "c"),
    Case("VARCHAR(255) CHARACTER SET latin1", ("REPEAT('ÿ', 255)", "REPEAT('x', 252)", "''"), "c"),
    Case("VARCHAR(256) CHARACTER SET latin1", ("REPEAT('ÿ', 256)", "REPEAT('x', 250)", "''"), "c"),
    Case("VARCHAR(15000)", ("REPEAT('漢', 15000)", "REPEAT('x', 251)", "REPEAT('y', 300)"), "c"),
    Case("TINYTEXT", ("REPEAT('x', 255)", "''"), "c"),
    Case("MEDIUMTEXT", ("REPEAT('漢x', 30000)", "''"), "c"),
    Case("LONGTEXT", ("REPEAT('漢x', 30000)", "''"), "c"),
    Case("JSON", ("""'{"a": [1.10, null, "ñ"]}'""", "'null'", "'[]'"), "c"),
    Case("VARCHAR(100) COLLATE utf8mb4_uca1400_ai_ci", ("'ñ'",), "c"),
    Case("VARCHAR(1000) COMPRESSED", ("REPEAT('añ漢', 300)", "'ab'", "''"), "c"),
    Case("TEXT COMPRESSED CHARACTER SET latin1", ("REPEAT('añ', 3000)", "'ab'", "''"), "c"),
    Case("ENUM('a', 'ñ', 'c,d', '')", ("'a'", "'ñ'", "'c,d'", "4", "'none of them'")),
    Case("ENUM('€', 'ÿ') CHARACTER SET latin1", ("'€'", "2")),
    Case(f"ENUM({', '.join(repr(str(n)) for n in range(300))})", ("'0'", "'255'", "'256'", "'299'")),
    *(
        Case(
            f"SET({', '.join(repr(f'm{n}') for n in range(size))})",
            ("''", "1", f"{(1 << size) - 1}", f"{1 << size - 1}"),
        )
        for size in (1, 8, 9, 16, 17, 24, 25, 32, 33, 64)
    ),
    Case("SET('€', 'ÿ') CHARACTER SET latin1", ("'€,ÿ'", "'ÿ'")),
]

_HEX: dict[str, Any] = {"shown": "HEX(c)", "seen": lambda value: value.hex().upper()}
BINARY = [
    Case("BINARY(5)", ("''", "x'01'", "x'0100'", "x'0102030405'", "x'0000000000'", "x'6120'"), **_HEX),
    Case("BINARY(255)", ("x'FF'", "REPEAT('z', 255)"), **_HEX),
    Case("VARBINARY(5)", ("''", "x'0100'", "x'00FF80'"), **_HEX),
    Case("VARBINARY(1000)", ("REPEAT(x'FF00', 500)", "x'00'"), **_HEX),
    Case("TINYBLOB", ("REPEAT('z', 255)", "''"), **_HEX),
    Case("BLOB", ("REPEAT(x'FF00', 30000)", "''"), **_HEX),
    Case("MEDIUMBLOB", ("REPEAT(x'FF00', 60000)", "x'00'"), **_HEX),
    Case("LONGBLOB", ("REPEAT(x'FF00', 60000)", "x'00'"), **_HEX),
    Case("VARBINARY(500) COMPRESSED", ("REPEAT(x'FF00', 200)", "x'00'", "''"), **_HEX),
    Case("BLOB COMPRESSED", ("REPEAT(x'FF00', 2000)", "x'00'", "''"), **_HEX),
    Case("VARCHAR(9) CHARACTER SET binary", ("x'00FF'",), **_HEX),
    Case("TEXT CHARACTER SET binary", ("x'00FF'",), **_HEX),
    Case("GEOMETRY", ("POINT(1, 2)", "ST_GeomFromText('LINESTRING(0 0, 1 1)', 4326)"), **_HEX),
]

ALL = [*NUMBERS, *TEMPORAL, *TEXT, *BINARY]
