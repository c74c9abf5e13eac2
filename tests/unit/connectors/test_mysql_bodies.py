"""The tables that the bodies of triggers and routines name."""

from __future__ import annotations

import pytest

from tieout.connectors.mysql.check.schema.routines import named_tables as spoken


@pytest.mark.parametrize(
    ("body", "tables"),
    [
        ("INSERT INTO log VALUES (NEW.id)", {"log"}),
        ("RETURN (SELECT COUNT(*) FROM `db`.`a b`) * 2", {"db.a b"}),
        ("SET NEW.x = (SELECT MAX(y) FROM t)", {"t"}),
        ("DELETE l FROM log l JOIN t ON t.id = l.id", {"log", "t"}),
        ("UPDATE t a, u SET a.x = 1", {"t", "u"}),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c, dual", {"t"}),
        ("BEGIN DECLARE n INT DEFAULT 0; SELECT COUNT(*) INTO n FROM t; REPLACE INTO u SELECT ';' ; END", {"t", "u"}),
        ("BEGIN CREATE TEMPORARY TABLE s (id INT); INSERT INTO s SELECT id FROM t; END", {"t"}),
        ("BEGIN SET NEW.name = TRIM(BOTH ' ' FROM NEW.name); SET @a = EXTRACT(YEAR FROM NEW.d); END", set()),
    ],
)
def test_tables(body: str, tables: set[str]) -> None:
    found = spoken(body).tables
    assert {f"{schema}.{name}" if schema else name for schema, name in found} == tables


@pytest.mark.parametrize(
    ("body", "complete"),
    [
        ("INSERT INTO log VALUES (1)", True),
        ("BEGIN SET NEW.x = 1; END", True),
        ("BEGIN IF NEW.x > 0 THEN DELETE FROM gone; END IF; END", False),
        ("BEGIN DECLARE c CURSOR FOR SELECT * FROM t; OPEN c; END", False),
        ("CALL other()", False),
    ],
)
def test_what_is_not_understood_is_said(body: str, complete: bool) -> None:
    assert spoken(body).complete is complete
