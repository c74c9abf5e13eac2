"""Values of a log as the text that the same value has in a chunk."""

from __future__ import annotations

import pytest

from tieout.connectors.mysql.move.copy_values import address_text
from tieout.connectors.postgres.move.chunks import array_json, clock_text
from tieout.connectors.sql import copy_text
from tieout.model.types import LogicalType, TypeName


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([None, None], [None, None]),
        ([0, None, (1 << 64) - 1], ["0", None, "18446744073709551615"]),
        ([-(1 << 63), 5], ["-9223372036854775808", "5"]),
        ([b"", None, b"\0\xff"], ["\\x", None, "\\x00ff"]),
        (["", None, "a\0"], ["", None, "a\0"]),
        ([0.1, 5e-324, None], ["0.1", "5e-324", None]),
    ],
)
def test_texts(values: list[object], texts: list[str | None]) -> None:
    assert copy_text.texts(values).to_pylist() == texts


@pytest.mark.parametrize(
    ("interval", "clock"),
    [
        ("PT0S", "00:00:00"),
        ("PT838H59M59.999999S", "838:59:59.999999"),
        ("PT-838H-59M-59.999999S", "-838:59:59.999999"),
        ("PT-0.000001S", "-00:00:00.000001"),
        ("PT5M", "00:05:00"),
        ("P1D", "P1D"),
        ("P1MT1H", "P1MT1H"),
    ],
)
def test_intervals_as_times(interval: str, clock: str) -> None:
    assert clock_text(interval) == clock


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("01020304", "1.2.3.4"),
        ("00000000000000000000ffff01020304", "::ffff:1.2.3.4"),
        ("00000000000000000000000001020304", "::1.2.3.4"),
        ("00000000000000000000000000000102", "::102"),
        ("00010000000000020000000000000003", "1:0:0:2::3"),
        ("00010000000200000003000000040000", "1::2:0:3:0:4:0"),
        ("00010002000300040005000600070000", "1:2:3:4:5:6:7::"),
        ("00010002000300040005000600070008", "1:2:3:4:5:6:7:8"),
        ("00" * 16, "::"),
    ],
)
def test_addresses_as_mariadb_writes_them(address: str, text: str) -> None:
    assert address_text(bytes.fromhex(address)) == text


@pytest.mark.parametrize(
    ("element", "text", "document"),
    [
        (TypeName.INTEGER, "{1,NULL,{2}}", "[1,null,[2]]"),
        (TypeName.INTEGER, "[0:1]={1,2}", "[1,2]"),
        (TypeName.FLOAT64, "{NaN,-0,1e-300}", '["NaN",-0,1e-300]'),
        (TypeName.TEXT, '{"NULL",NULL,"a\\"b","\\\\","{}",é}', '["NULL",null,"a\\"b","\\\\","{}","é"]'),
        (TypeName.BOOLEAN, "{t,f,NULL}", "[true,false,null]"),
        (TypeName.JSON, '{"{\\"a\\": 1}",NULL,"null"}', '[{"a": 1},null,null]'),
        (
            TypeName.INSTANT,
            '{"2024-01-01 00:00:00.5+00",infinity}',
            '["2024-01-01T00:00:00.5+00:00","infinity"]',
        ),
        (TypeName.TIMESTAMP, '{"0044-03-15 00:00:00 BC"}', '["0044-03-15T00:00:00 BC"]'),
        (TypeName.DATE, "{2024-01-01}", '["2024-01-01"]'),
        (TypeName.TEXT, "{}", "[]"),
    ],
)
def test_arrays_as_documents(element: TypeName, text: str, document: str) -> None:
    kind = LogicalType(TypeName.ARRAY, "…[]", element=LogicalType(element, str(element)))
    assert array_json(text, kind) == document
