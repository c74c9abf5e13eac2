"""Indexes of MariaDB: what is read by which path, for each engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.checking.checks import Checking
from tests.variants import later
from tieout.model.failures import CheckVerdict, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

TABLE = """
CREATE TABLE orders (
  id INT PRIMARY KEY, sku VARCHAR(40) COLLATE utf8mb4_general_ci, qty INT, at TIMESTAMP NULL, price DECIMAL(10, 2),
  KEY by_sku (sku, qty), KEY by_at (at), UNIQUE by_price (price, id), KEY begins (sku(3)), FULLTEXT words (sku)
) ENGINE={}"""
ROWS = """
INSERT INTO orders SELECT seq, IF(seq % 7 = 0, NULL, CONCAT('Skü-', seq % 97)), seq % 11,
  IF(seq % 5 = 0, NULL, FROM_UNIXTIME(seq * 1000)), seq / 3 FROM seq_1_to_1000"""


@pytest.mark.parametrize("engine", ["InnoDB", "Aria", later("MyISAM")])
def test_a_clean_table(mysql_db: Database, spark: SparkSession, tmp_path: Path, engine: str) -> None:
    mysql_db.execute(TABLE.format(engine))
    mysql_db.execute(ROWS)
    mysql_db.execute("UPDATE orders SET sku = 'other' WHERE id % 3 = 0")
    mysql_db.execute("DELETE FROM orders WHERE id % 10 = 1")
    report = Checking(mysql_db.url, spark, tmp_path).run("INSPECT TABLE orders")
    assert report.failures == ()
    status = {check.name: check.status for check in report.checks}
    checked = {"by_sku", "by_at", "by_price"} | ({"begins"} if engine == "InnoDB" else {"PRIMARY"})
    unchecked = {"words"} | ({"begins"} if engine != "InnoDB" else set())
    assert status == dict.fromkeys(checked, Status.OK) | dict.fromkeys(unchecked, Status.NOT_CHECKED)
    assert report.verdict is CheckVerdict.UNVERIFIED
    evidence = {check.name: check.evidence for check in report.checks}
    assert evidence["by_sku"] == "orders row by row; key by_sku, Using index"
