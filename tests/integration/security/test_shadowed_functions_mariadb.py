"""Functions of users that are called like those of the server: MySQL servers call their own, unless told the schema.

That holds as long as there is no space before the parenthesis, and for functions that the server has.
"""

from __future__ import annotations

import ast
import re
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pymysql

import tieout
from tieout.config.urls import parse_url
from tieout.connectors.protocols.endpoint import HashSpec, Scan, ScanColumn
from tieout.connectors.registry import open_checker, open_endpoint
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.keys import EVERYTHING
from tieout.model.tables import Table

if TYPE_CHECKING:
    from tests.servers.server import Database

CALLED = re.compile(r"\b([A-Z_][A-Z0-9_]+) ?\(")
TABLE = """
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20) CHARACTER SET sjis, d DATETIME(3), m TIMESTAMP(2) NULL,
  n DECIMAL(9, 2), b BLOB, j JSON, e ENUM('x', 'y'), g INT AS (y + 1) STORED, y YEAR, f FLOAT, i BIT(3),
  KEY k (v), UNIQUE KEY u (n), CHECK (n < 1000))"""


def named_in_source() -> list[str]:
    found = set()
    for path in (Path(tieout.__file__).parent / "connectors").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(CALLED.findall(node.value))
    return sorted(found)


def set_traps(database: Database) -> int:
    """How many there are: some words before a parenthesis are no names of functions, and can't be."""
    count = 0
    for name in named_in_source():
        with suppress(pymysql.MySQLError):
            database.execute(
                f"CREATE FUNCTION `{name}` (a TEXT) RETURNS TEXT DETERMINISTIC SQL SECURITY INVOKER MODIFIES SQL DATA "
                f"BEGIN INSERT INTO trapped VALUES ('{name}'); RETURN NULL; END"
            )
            count += 1
    return count


def scan_of(table: Table) -> Scan:
    kinds = [(column, common_kind(column.type, column.type)) for column in table.columns]
    return Scan(table, tuple(ScanColumn(c, kind) for c, kind in kinds if isinstance(kind, Kind)), (0,), (0,))


def test_the_server_calls_its_own_functions(mysql_db: Database) -> None:
    mysql_db.execute(TABLE)
    mysql_db.execute("INSERT INTO t (v, d, n, j, e) VALUES ('a', NOW(), 1.5, '{}', 'x'), ('b', NULL, 2, NULL, NULL)")
    mysql_db.execute("CREATE TABLE trapped (name VARCHAR(99))")
    assert set_traps(mysql_db) > 30
    mysql_db.rows(f"SELECT {mysql_db.name}.HEX('a')")
    assert mysql_db.rows("SELECT name FROM trapped") == [("HEX",)]
    mysql_db.execute("TRUNCATE trapped")
    url = parse_url(mysql_db.url)
    with closing(open_endpoint(url)) as endpoint, closing(open_checker(url)) as checker:
        (table,) = endpoint.describe([name for name in endpoint.tables() if name.name == "t"])
        scan, reader = scan_of(table), endpoint.reader()
        assert reader.count(scan, EVERYTHING) == 2
        assert reader.digest(scan, EVERYTHING, HashSpec(native=False, bits=128, seed=1)).count == 2
        assert len(reader.bounds(scan, EVERYTHING, 1, 9)) == 1
        assert sum(batch.num_rows for batch in reader.read(scan, EVERYTHING)) == 2
        for constraint in checker.constraints(table):
            checker.violations([constraint])
        assert {index.name for index in checker.indexes(table)} == {"k", "u"}
        assert not [defect for each in checker.inspect([table.name]) for defect in each.failures]
    assert mysql_db.rows("SELECT DISTINCT name FROM trapped") == []
