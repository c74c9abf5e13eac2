"""Definitions of MariaDB objects that are really broken: each by its kind and name, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.corruption import mariadb
from tests.integration.checking.definitions import definitions, found, statuses
from tieout.config.urls import parse_url
from tieout.connectors.mysql.check.schema.objects import SchemaSession
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.protocols.check import StatementError
from tieout.model.failures import Status
from tieout.model.tables import TableName

if TYPE_CHECKING:
    from tests.servers.server import Database

HEALTHY = """
CREATE SEQUENCE numbers;
CREATE SEQUENCE down START WITH -1 INCREMENT BY -2 MINVALUE -1000 MAXVALUE -1 NOCACHE;
CREATE TABLE customers (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) DEFAULT 'it''s, 100%%',
  c CHAR(3) DEFAULT (CONCAT('a', 'b')), d DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  b BIT(3) DEFAULT b'101', n INT DEFAULT (nextval(numbers)), m INT DEFAULT nextval(down), o INT DEFAULT (n + 1),
  j JSON DEFAULT '{}', g INT AS (n * 2) VIRTUAL, s VARCHAR(40) AS (CONCAT(name, '%%')) STORED,
  KEY by_g (g), UNIQUE (name, id));
CREATE TABLE `Order ``Lines` (`no` INT, customer BIGINT UNSIGNED, part VARCHAR(10), PRIMARY KEY (customer, `no`),
  CONSTRAINT `to customer` FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE);
CREATE TABLE self (a INT, b INT, x INT, y INT, PRIMARY KEY (a, b), KEY (b, a),
  FOREIGN KEY (y, x) REFERENCES self (b, a));
CREATE TABLE grouped (g INT, n INT AUTO_INCREMENT, PRIMARY KEY (g, n)) ENGINE = MyISAM;
CREATE TABLE aria (id INT AUTO_INCREMENT, v INT, KEY (id)) ENGINE = Aria;
CREATE TABLE parts (id INT AUTO_INCREMENT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 3;
CREATE TABLE history (id INT) WITH SYSTEM VERSIONING;
CREATE TABLE log (what TEXT, n INT);
CREATE VIEW seen AS SELECT c.id, c.name, COUNT(*) AS total FROM customers c
  JOIN `Order ``Lines` l ON l.customer = c.id GROUP BY c.id;
CREATE SQL SECURITY INVOKER VIEW `above it` AS SELECT id FROM seen WHERE total > 1;
CREATE TRIGGER one AFTER INSERT ON customers FOR EACH ROW
  INSERT INTO log (what, n) VALUES (NEW.name, (SELECT COUNT(*) FROM self));
CREATE TRIGGER many BEFORE UPDATE ON customers FOR EACH ROW BEGIN
  DECLARE n INT DEFAULT 0; SET NEW.name = TRIM(BOTH ' ' FROM NEW.name);
  SELECT COUNT(*) INTO n FROM log AS l; DELETE l FROM log l WHERE l.n < n;
END;
CREATE FUNCTION twice(n INT) RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM customers) * n;
CREATE PROCEDURE looping(IN n INT) BEGIN
  CREATE TEMPORARY TABLE scratch (id INT); INSERT INTO scratch SELECT id FROM customers;
  WITH cte AS (SELECT 1) SELECT * FROM cte, scratch;
  IF n > 0 THEN DELETE FROM log; END IF;
END;
INSERT INTO customers (name) VALUES ('a'), ('b'), ('c'); UPDATE customers SET m = -100 WHERE id = 2;
INSERT INTO `Order ``Lines` VALUES (1, 1, 'x'); INSERT INTO grouped (g) VALUES (1), (1), (2);
INSERT INTO aria (v) VALUES (1), (2);
INSERT INTO parts (v) VALUES (1), (2), (3)"""

ROOM = """
CREATE SEQUENCE lost; CREATE SEQUENCE numbers NOCACHE;
CREATE TABLE parent (id INT PRIMARY KEY, u INT, v INT, UNIQUE by_u (u));
CREATE TABLE other (id INT PRIMARY KEY); CREATE TABLE retyped (id INT PRIMARY KEY);
CREATE TABLE child (p INT, q INT, r INT, s INT, CONSTRAINT to_id FOREIGN KEY (p) REFERENCES parent (id),
  CONSTRAINT to_u FOREIGN KEY (q) REFERENCES parent (u), CONSTRAINT to_other FOREIGN KEY (r) REFERENCES other (id),
  CONSTRAINT to_retyped FOREIGN KEY (s) REFERENCES retyped (id));
CREATE TABLE t (id INT DEFAULT (nextval(numbers)) PRIMARY KEY, a BIGINT, b INT, l INT DEFAULT (nextval(lost)));
CREATE TABLE log (m INT); CREATE TABLE keyed (a INT, KEY by_a (a)) ENGINE = MyISAM;
CREATE VIEW v_column AS SELECT id, b FROM t; CREATE VIEW v_above AS SELECT id FROM v_column;
CREATE VIEW v_table AS SELECT m FROM log; CREATE VIEW v_fine AS SELECT id FROM t;
CREATE TRIGGER fires AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id);
CREATE PROCEDURE logs() SELECT * FROM log;
CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, v INT) ENGINE = MyISAM;
INSERT INTO counted (v) VALUES (1), (2), (3);
INSERT INTO t (a) VALUES (1), (2), (9000000000000000000)"""


def test_a_rich_schema_is_sound(mysql_db: Database) -> None:
    _make(mysql_db, HEALTHY)
    checked = definitions(mysql_db.url)
    assert found(checked) == set()
    assert {each.result.status for each in checked} == {Status.OK}, [each.result for each in checked]
    seen = {each.result.table.split(".", 1)[1]: (each.result.name, each.result.evidence) for each in checked}
    assert seen["customers"][1] == (
        "definitions: 1, indexes: 3, defaults: 8, sequences: 3, generated columns: 2, triggers: 2"
    )
    assert {seen[name][0] for name in ("above it", "twice", "looping")} == {"view", "function", "procedure"}
    (looping,) = (each.result for each in checked if each.result.name == "procedure")
    assert "outside of conditions" in str(looping.reason)


def test_faults_of_every_kind(mysql_db: Database) -> None:
    _make(mysql_db, ROOM)
    assert found(definitions(mysql_db.url)) == set()
    name = mysql_db.name
    with mariadb.unguarded(mysql_db) as cursor:
        for statement in (
            "ALTER TABLE parent DROP INDEX by_u",
            "DROP TABLE retyped",
            "CREATE TABLE retyped (id BIGINT PRIMARY KEY)",
            "DROP TABLE other",
            "DROP TABLE log",
            "ALTER TABLE t ADD twice BIGINT AS (a * 2) VIRTUAL",
            "ALTER TABLE keyed DISABLE KEYS",
        ):
            cursor.execute(statement)
    mariadb.broken_view(mysql_db, "v_column", "ALTER TABLE t DROP COLUMN b")
    mariadb.sequence_behind(mysql_db, "numbers")
    mariadb.stale_entry(mysql_db, "counted", "PRIMARY", "id = 3", {"id": 100})
    mysql_db.execute("DROP SEQUENCE lost")
    checked = definitions(mysql_db.url)
    assert found(checked) == {
        ("invalid_foreign_key", f"{name}.child", "to_u"),
        ("invalid_foreign_key", f"{name}.child", "to_other"),
        ("invalid_foreign_key", f"{name}.child", "to_retyped"),
        ("sequence_behind", f"{name}.t", f"sequence {name}.numbers"),
        ("sequence_behind", f"{name}.counted", "column id"),
        ("invalid_default", f"{name}.t", "column l"),
        ("invalid_generated_column", f"{name}.t", "column twice"),
        ("missing_reference", f"{name}.t", "trigger fires"),
        ("missing_reference", f"{name}.logs", None),
        ("invalid_view", f"{name}.v_table", None),
        ("invalid_view", f"{name}.v_column", None),
        ("invalid_view", f"{name}.v_above", None),
        ("invalid_index", f"{name}.keyed", "by_a"),
    }
    reasons = {
        failure.table: failure.details["reason"]
        for each in checked
        for failure in each.failures
        if failure.kind.value == "invalid_view"
    }
    assert reasons[f"{name}.v_column"] == f"Unknown column '{name}.t.b' in 'SELECT'"
    of_keys = {failure.constraint: failure.details.get("reason") for each in checked for failure in each.failures}
    assert of_keys["to_other"] == f"table {name}.other does not exist"
    # A table with the views that read it, and nothing else.
    assert statuses(definitions(mysql_db.url, [TableName(name, "t")])).keys() == {
        f"{name}.{each}" for each in ("t", "v_column", "v_above", "v_fine")
    }


def test_what_one_may_not_read_is_not_checked_and_no_failure(mysql_db: Database) -> None:
    _make(mysql_db, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT); CREATE TABLE u (a INT)")
    _make(mysql_db, "CREATE SQL SECURITY INVOKER VIEW w AS SELECT v FROM t; CREATE VIEW x AS SELECT v FROM t")
    with _login(mysql_db, "w", "x", "u") as url:
        checked = definitions(url)
    assert found(checked) == set()
    assert statuses(checked) == {
        f"{mysql_db.name}.u": "ok",
        f"{mysql_db.name}.w": "not_checked",
        f"{mysql_db.name}.x": "ok",
    }


def _make(database: Database, statements: str) -> None:
    """One after another: a body has semicolons of its own."""
    parts: list[str] = []
    for piece in statements.replace("%%", "%").split(";"):
        text = ";".join([*parts, piece])
        parts = [*parts, piece] if text.upper().count("BEGIN") > text.upper().count("\nEND") else []
        if not parts and text.strip():
            database.execute(text)


@contextmanager
def _login(database: Database, *tables: str) -> Iterator[str]:
    """The URL of one who may read these tables, and nothing else."""
    database.execute("CREATE USER visitor IDENTIFIED BY 'visitor'")
    try:
        for table in tables:
            database.execute(f"GRANT SELECT, SHOW VIEW ON `{database.name}`.`{table}` TO visitor")
        server = database.server
        yield f"mysql://visitor:visitor@{server.host}:{server.port}/{database.name}"
    finally:
        database.execute("DROP USER visitor")


@pytest.mark.parametrize("code", [1037, 1038, 1041, 1290, 1836])
def test_a_server_without_memory_or_writes_says_nothing_about_a_definition(mysql_db: Database, code: int) -> None:
    with closing(SchemaSession(parse_url(mysql_db.url), ServerKind.MARIADB)) as session:
        found = session.error_of(f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'not now'")
    assert found == StatementError("not now", conclusive=False)


def test_what_the_server_says_about_a_definition(mysql_db: Database) -> None:
    with closing(SchemaSession(parse_url(mysql_db.url), ServerKind.MARIADB)) as session:
        found = session.error_of("SELECT nothing FROM dual")
    assert found is not None
    assert found.conclusive
