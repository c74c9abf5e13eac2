"""Tables with all that a table may have, and how a server describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.servers.server import Database

MARIADB = r"""
CREATE TABLE people (
  id INT NOT NULL AUTO_INCREMENT COMMENT 'has AUTO_INCREMENT, \\ and ''quotes''\nin two lines',
  email VARCHAR(190) NOT NULL COLLATE utf8mb4_bin,
  name VARCHAR(50) CHARACTER SET latin1 NOT NULL DEFAULT 'it''s \\ new',
  kind ENUM('a\\b', 'c''d', 'e,f') NOT NULL DEFAULT 'a\\b',
  born DATE DEFAULT '0000-00-00',
  at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  bio TEXT, notes TEXT, doc JSON,
  age INT UNSIGNED CHECK (age < 200),
  twice INT AS (age * 2) STORED, shown VARCHAR(60) AS (CONCAT(name, '{table}', '\\')) VIRTUAL,
  place POINT NOT NULL, hidden INT INVISIBLE DEFAULT 7,
  PRIMARY KEY (id), UNIQUE KEY `by email` (email), UNIQUE KEY pair (name, age),
  KEY prefix (bio(20)), KEY backwards (name DESC, id), FULLTEXT KEY words (bio), FULLTEXT KEY more_words (notes),
  SPATIAL KEY places (place), CONSTRAINT `odd name` CHECK (email <> 'q\\''z')
) DEFAULT CHARSET = utf8mb4 COMMENT = 'AUTO_INCREMENT=7 \\ {table}';
CREATE TABLE visits (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, person INT NOT NULL, again BIGINT UNSIGNED,
  CONSTRAINT `visit's person` FOREIGN KEY (person) REFERENCES people (id) ON DELETE NO ACTION,
  CONSTRAINT chain FOREIGN KEY (again) REFERENCES visits (id)
);
CREATE TABLE parted (id INT NOT NULL, year INT NOT NULL, PRIMARY KEY (id, year))
  PARTITION BY RANGE (year) (PARTITION old VALUES LESS THAN (2000), PARTITION new VALUES LESS THAN MAXVALUE);
CREATE TABLE keyed (code VARCHAR(10) NOT NULL, n INT, KEY plain (code), UNIQUE KEY codes (code));
CREATE TABLE keyless (a INT, b VARCHAR(10));
SET STATEMENT sql_mode = 'NO_AUTO_VALUE_ON_ZERO' FOR
  INSERT INTO people (id, email, kind, place) VALUES (0, 'zero', 'c''d', POINT(0, 0));
INSERT INTO people (id, email, age, place) VALUES (5, 'a', 1, POINT(0, 0)), (9, 'A', 2, POINT(1, 1));
INSERT INTO visits VALUES (3, 5, NULL), (4, 9, 3);
INSERT INTO parted VALUES (1, 1999), (1, 2024);
INSERT INTO keyed VALUES ('a', 1), ('b', 2);
INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL);
"""

POSTGRES = r"""
CREATE SCHEMA app;
CREATE TYPE app.mood AS ENUM ('it''s', 'ok');
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN short_text AS varchar(20) COLLATE folded NOT NULL DEFAULT 'none' CHECK (VALUE <> 'x');
CREATE SEQUENCE shared INCREMENT BY 5 START WITH 50;
CREATE TABLE people (
  id integer GENERATED ALWAYS AS IDENTITY (INCREMENT BY 10 START WITH 20) PRIMARY KEY,
  email text NOT NULL COLLATE folded CONSTRAINT "by email" UNIQUE,
  name short_text DEFAULT 'it''s \ {table}',
  mood app.mood NOT NULL DEFAULT 'ok', moods app.mood[] DEFAULT '{ok}',
  at timestamptz(3) NOT NULL DEFAULT now(), span tstzrange,
  age integer CONSTRAINT "odd name" CHECK (age < 200), twice integer GENERATED ALWAYS AS (age * 2) STORED,
  ticket bigint DEFAULT nextval('shared'), invoice text DEFAULT 'INV-' || nextval('shared'),
  EXCLUDE USING gist (span WITH &&)
);
ALTER TABLE people ADD CONSTRAINT unproven CHECK (age <> 13) NOT VALID;
CREATE INDEX partial ON people (age) WHERE age > 10;
CREATE UNIQUE INDEX "expression ON x USING y" ON people (lower(email), age) INCLUDE (mood);
CREATE INDEX backwards ON people (age DESC NULLS LAST, id);
CREATE INDEX brinned ON people USING brin (id) WITH (pages_per_range = 4);
COMMENT ON TABLE people IS 'who''s who {table}';
COMMENT ON COLUMN people.age IS 'years \ old';
CREATE TABLE visits (
  id serial PRIMARY KEY, person integer NOT NULL, again integer, small smallserial,
  CONSTRAINT "visit's person" FOREIGN KEY (person) REFERENCES people ON DELETE CASCADE,
  CONSTRAINT chain FOREIGN KEY (again) REFERENCES visits (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED
);
CREATE TABLE parted (id int, year int, PRIMARY KEY (id, year));
CREATE TABLE keyed (code varchar(10) NOT NULL, n int);
CREATE INDEX plain ON keyed (code);
CREATE UNIQUE INDEX codes ON keyed (code);
ALTER TABLE keyed REPLICA IDENTITY USING INDEX codes;
CREATE TABLE keyless (a int, b varchar(10));
ALTER TABLE keyless REPLICA IDENTITY FULL;
INSERT INTO people (email, age) VALUES ('a', 1), ('b', 2);
INSERT INTO people (email, age) VALUES ('c', 3);
INSERT INTO visits (person) VALUES (20), (30);
INSERT INTO parted VALUES (1, 1999), (1, 2024);
INSERT INTO keyed VALUES ('a', 1), ('b', 2);
INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL);
"""

_CHANGED = """
DELETE FROM keyed WHERE code = 'a'; UPDATE keyed SET code = 'c' WHERE n = 2; INSERT INTO keyed VALUES ('d', 4);
UPDATE keyless SET b = 'y' WHERE a = 1; INSERT INTO keyless VALUES (1, 'y'); DELETE FROM keyless WHERE a IS NULL;
UPDATE parted SET year = 1998 WHERE year = 2024;
UPDATE people SET age = age + 20;
"""
CHANGES = {
    "mysql": _CHANGED
    + "DELETE FROM people WHERE id = 0; INSERT INTO people (email, place) VALUES ('new', POINT(0, 0))",
    "postgresql": _CHANGED + "DELETE FROM people WHERE email = 'c'; INSERT INTO people (email) VALUES ('new')",
}
"""Some of them are told by their keys alone, in columns that take no NULL."""

TABLES = ("people", "visits", "parted", "keyed", "keyless")

_DESCRIBED = """
SELECT 'column', a.attrelid::regclass::text, a.attname::text,
  concat_ws(' | ', a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull,
  pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attcollation::regcollation,
  col_description(a.attrelid, a.attnum))
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = ANY(%s::regclass[]) AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'index', i.indrelid::regclass::text, c.relname::text, pg_get_indexdef(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = ANY(%s::regclass[])
UNION ALL
SELECT 'constraint', c.conrelid::regclass::text, c.conname::text, pg_get_constraintdef(c.oid)
FROM pg_constraint c WHERE c.conrelid = ANY(%s::regclass[])
UNION ALL
SELECT 'table', c.oid::regclass::text, '', obj_description(c.oid, 'pg_class')
FROM pg_class c WHERE c.oid = ANY(%s::regclass[])
UNION ALL
SELECT 'sequence', a.attrelid::regclass::text, a.attname::text,
  concat_ws(' | ', s.increment_by, s.start_value, s.min_value, s.max_value, s.last_value)
FROM pg_attribute a JOIN pg_sequences s
  ON pg_get_serial_sequence(a.attrelid::regclass::text, a.attname) = format('%%I.%%I', s.schemaname, s.sequencename)
WHERE a.attrelid = ANY(%s::regclass[]) AND a.attnum > 0
ORDER BY 1, 2, 3"""


def described(database: Database, tables: tuple[str, ...] = TABLES) -> Any:
    """All that the server says of the tables, in its own words."""
    if database.server.scheme == "mysql":
        return {table: database.rows(f"SHOW CREATE TABLE {table}")[0][1] for table in tables}
    return database.rows(_DESCRIBED, *[list(tables)] * 5)
