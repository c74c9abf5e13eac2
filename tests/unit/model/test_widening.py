"""Which types hold every value of another one."""

from __future__ import annotations

import pytest

from tieout.connectors.mysql.binlog.column_definitions import stated
from tieout.connectors.mysql.binlog.ddl_tokens import Words, words_of
from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName
from tieout.model.widening import narrower, takes


def column(definition: str) -> Column | None:
    return stated("c", Words(words_of(definition)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("TINYINT", "SMALLINT"),
        ("INT(11)", "BIGINT(20) NOT NULL DEFAULT -1 AUTO_INCREMENT COMMENT 'NOT NULL' FIRST"),
        ("INT UNSIGNED", "BIGINT"),
        ("MEDIUMINT UNSIGNED", "INTEGER SIGNED"),
        ("BOOL", "INT"),
        ("VARCHAR(10)", "VARCHAR(11) CHARACTER SET = utf8mb4 COLLATE utf8mb4_bin AFTER `b`"),
        ("VARCHAR(16383)", "TEXT"),
        ("TEXT", "MEDIUMTEXT"),
        ("TINYTEXT", "TEXT"),
        ("CHAR(5)", "CHAR(9)"),
        ("VARBINARY(5)", "BLOB"),
        ("DECIMAL(5,2)", "DECIMAL(7,2)"),
        ("DECIMAL(5,2)", "NUMERIC(9,4)"),
        ("DECIMAL(5,2) UNSIGNED", "DECIMAL(5,2)"),
        ("DATETIME", "DATETIME(6) ON UPDATE CURRENT_TIMESTAMP(6)"),
        ("TIME(2)", "TIME(3)"),
        ("ENUM('a','it''s')", "ENUM('a','it''s', 'c ')"),
        ("SET('a')", "SET('a', 'b') DEFAULT 'a'"),
        ("INT", "INT DEFAULT (1 + (2)) CHECK (c > 0) UNIQUE KEY"),
        ("FLOAT", "FLOAT"),
    ],
)
def test_what_holds_every_value(before: str, after: str) -> None:
    old, new = column(f"{before} NOT NULL"), column(after)
    assert old is not None
    assert new is not None
    assert narrower(old, new) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("INT", "INT UNSIGNED"),
        ("INT", "SMALLINT"),
        ("BIGINT UNSIGNED", "BIGINT"),
        ("INT", "DECIMAL(20)"),
        ("INT", "VARCHAR(20)"),
        ("FLOAT", "DOUBLE"),
        ("VARCHAR(10)", "VARCHAR(9)"),
        ("VARCHAR(16384)", "TEXT"),
        ("VARCHAR(255)", "TINYTEXT"),
        ("TEXT", "VARCHAR(20000)"),
        ("CHAR(5)", "VARCHAR(9)"),
        ("VARCHAR(5)", "CHAR(9)"),
        ("VARCHAR(5)", "VARBINARY(50)"),
        ("DECIMAL(5,2)", "DECIMAL(6,4)"),
        ("DECIMAL(5,2)", "DECIMAL(5,2) UNSIGNED"),
        ("DATETIME(6)", "DATETIME"),
        ("DATE", "DATETIME"),
        ("DATETIME", "TIMESTAMP"),
        ("ENUM('a','b')", "ENUM('b','a','c')"),
        ("ENUM('a')", "VARCHAR(9)"),
        ("INT NULL", "BIGINT NOT NULL"),
    ],
)
def test_what_may_not_hold_every_value(before: str, after: str) -> None:
    old, new = column(before), column(after)
    assert old is not None
    assert new is not None
    assert narrower(old, new) is not None


@pytest.mark.parametrize(
    "definition",
    [
        "BIGINT ZEROFILL",
        "BIGINT AS (a + 1) PERSISTENT",
        "BIGINT GENERATED ALWAYS AS (a)",
        "VARCHAR(9) BINARY",
        "VARCHAR(9) COMPRESSED",
        "NATIONAL VARCHAR(9)",
        "TEXT(70000)",
        "DOUBLE PRECISION",
        "BINARY(9)",
        "BIT(9)",
        "JSON",
        "INT REFERENCES t (id)",
        "INT DEFAULT (1",
        "VARCHAR(9) DEFAULT _utf8'a'",
        "ENUM('a', x)",
        "",
    ],
)
def test_definitions_that_are_not_understood(definition: str) -> None:
    assert column(definition) is None


def test_types_of_two_engines() -> None:
    integer = LogicalType(TypeName.INTEGER, "int unsigned", 32, unsigned=True)
    assert takes(LogicalType(TypeName.INTEGER, "bigint", 64), integer)
    assert not takes(LogicalType(TypeName.INTEGER, "integer", 32), integer)
    assert takes(LogicalType(TypeName.DECIMAL, "numeric(20,0)", 20, 0), integer)
    assert not takes(LogicalType(TypeName.DECIMAL, "numeric(9,0)", 9, 0), integer)
    text = LogicalType(TypeName.TEXT, "text")
    assert takes(LogicalType(TypeName.TEXT, "longtext", (1 << 32) - 1), text)
    assert not takes(LogicalType(TypeName.TEXT, "mediumtext", (1 << 24) - 1), text)
    padded = LogicalType(TypeName.BINARY, "binary(5)", 5)
    assert not takes(LogicalType(TypeName.BINARY, "binary(9)", 9), padded)
    words = LogicalType(TypeName.ARRAY, "text[]", element=text)
    assert not takes(LogicalType(TypeName.ARRAY, "integer[]", element=integer), words)
