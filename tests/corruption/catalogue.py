"""Every fault that a check is shown on, by engine: what makes it, each in a table of its own.

To add one: a line in the list of its engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.corruption import mariadb, postgres, sqlite

INDEXES, ALL = "INSPECT DATABASE", "CHECK DATABASE"

WORDS = ("apple", "Apple", "öl", "zebra", "Zebra", "ol")


@dataclass(frozen=True)
class Fault:
    """`make` corrupts the table `name` after `create` has made it and `fill` has filled it; `of` finds it."""

    name: str
    words: str
    create: str
    fill: str
    make: Callable[[Any, str], None]
    of: str = INDEXES


SEVENTH = "id = 7"
OTHER = {"v": 5}
TABLE = "CREATE TABLE {t} (id int PRIMARY KEY, v int, s varchar(20))"

# ------------------------------------------------------------------------------------------------- PostgreSQL

_PG_ROWS = "INSERT INTO {t} SELECT n, 10 * n, 's' || n FROM generate_series(1, 20) n; CREATE INDEX i_{t} ON {t} (v)"
_PG_UNIQUE = _PG_ROWS.replace("CREATE INDEX", "CREATE UNIQUE INDEX")
_PG_WORDS = "INSERT INTO {t} SELECT n, n, s FROM unnest(ARRAY['" + "', '".join(WORDS) + "']) WITH ORDINALITY AS u(s, n)"
_PG_FUNCTION = "CREATE FUNCTION f(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN a + 1; END'; "
_PG_PARENT = "CREATE TABLE {t}_of (id int PRIMARY KEY); INSERT INTO {t}_of SELECT generate_series(1, 20); "


def _pg(recipe: Callable[..., None], *values: Any) -> Callable[[Any, str], None]:
    return lambda database, table: recipe(database, table, f"i_{table}", SEVENTH, *values)


POSTGRES = [
    Fault("missing", "an entry is missing", TABLE, _PG_ROWS, _pg(postgres.missing_entry)),
    Fault("dangling", "an entry whose row is gone", TABLE, _PG_ROWS, _pg(postgres.dangling_entry)),
    Fault(
        "wrong_row",
        "an entry that leads to another row",
        TABLE,
        _PG_ROWS,
        _pg(postgres.wrong_row_entry, {"id": 99, "v": 5}),
    ),
    Fault("stale", "an entry of what its row was before", TABLE, _PG_ROWS, _pg(postgres.stale_entry, OTHER)),
    Fault(
        "stale_moved",
        "the same, and the row has moved in its page",
        TABLE,
        _PG_ROWS,
        _pg(postgres.stale_entry_of_a_chain, OTHER),
    ),
    Fault(
        "stored",
        "a wrong copy of an INCLUDEd column",
        TABLE,
        f"{_PG_ROWS} INCLUDE (s)",
        _pg(postgres.wrong_stored_value, {"s": "changed"}),
    ),
    Fault(
        "twin",
        "an entry is missing in one of two identical indexes",
        TABLE,
        f"{_PG_ROWS}; CREATE INDEX j_{{t}} ON {{t}} (v)",
        _pg(postgres.missing_entry),
    ),
    Fault(
        "duplicate",
        "a second row of a unique key, without an entry",
        TABLE,
        _PG_UNIQUE,
        _pg(postgres.duplicate_without_entry, {"id": 99}),
    ),
    Fault(
        "redefined",
        "a function that gives something else than when it was indexed",
        TABLE,
        _PG_FUNCTION + _PG_ROWS.replace("(v)", "(f(v))"),
        lambda database, _: postgres.redefined_function(database, "f(int)", "BEGIN RETURN a + 11; END"),
    ),
    Fault(
        "misordered",
        "an index in the order of another collation",
        TABLE.replace("(20)", '(20) COLLATE "en-x-icu"'),
        f"{_PG_WORDS}; CREATE INDEX i_{{t}} ON {{t}} (s)",
        lambda database, table: postgres.wrong_order(database, f"i_{table}", "C"),
    ),
    Fault(
        "upgraded",
        "a collation that sorts otherwise since",
        "CREATE COLLATION words (provider = icu, locale = 'en'); " + TABLE.replace("(20)", "(20) COLLATE words"),
        f"{_PG_WORDS}; CREATE INDEX i_{{t}} ON {{t}} (s)",
        lambda database, _: postgres.changed_collation(database, "words", "sv"),
    ),
    Fault(
        "twice",
        "a key twice in a unique index",
        TABLE,
        _PG_UNIQUE,
        _pg(postgres.duplicate_entry, {"id": 99}),
        ALL,
    ),
    Fault(
        "orphaned",
        "a row that refers to none",
        _PG_PARENT + TABLE,
        _PG_ROWS + "; ALTER TABLE {t} ADD FOREIGN KEY (id) REFERENCES {t}_of",
        lambda database, table: postgres.orphaned_rows(database, f"{table}_of", SEVENTH),
        ALL,
    ),
    Fault(
        "unchecked",
        "a row that a CHECK forbids",
        TABLE,
        _PG_ROWS + "; ALTER TABLE {t} ADD CHECK (v > 0)",
        lambda database, table: postgres.violated_check(database, table, SEVENTH, {"v": -1}),
        ALL,
    ),
    Fault(
        "empty",
        "NULL in a column that is NOT NULL",
        TABLE,
        _PG_ROWS + "; ALTER TABLE {t} ALTER s SET NOT NULL",
        lambda database, table: postgres.null_value(database, table, "s", SEVENTH),
        ALL,
    ),
]

# ---------------------------------------------------------------------------------------------------- MariaDB

_MARIA_ROWS = "INSERT INTO {t} SELECT seq, 10 * seq, CONCAT('s', seq) FROM seq_1_to_20"
_MARIA = "CREATE TABLE {{t}} (id INT PRIMARY KEY, v INT, s CHAR(20), {} i_{{t}} (v)) ENGINE={}"


def _maria(
    name: str, words: str, recipe: Callable[..., None], *values: Any, engine: str = "InnoDB", index: str = "KEY"
) -> Fault:
    def make(database: Any, table: str) -> None:
        recipe(database, table, f"i_{table}", SEVENTH, *values)

    return Fault(name, f"{words} ({engine})", _MARIA.format(index, engine), _MARIA_ROWS, make)


_PREFIX = "CREATE TABLE {t} (id INT PRIMARY KEY, v INT, s CHAR(20), KEY i_{t} (s(2)))"
_SORTED = "(id INT PRIMARY KEY, v INT, s CHAR(20) COLLATE {}, KEY i_upgraded (s))"

MARIADB = [
    _maria("missing", "an entry is missing", mariadb.missing_entry),
    _maria("marked", "an entry is marked as that of a deleted row", mariadb.delete_marked_entry),
    _maria("dangling", "an entry whose row is gone", mariadb.dangling_entry),
    _maria("wrong_row", "an entry that leads to another row", mariadb.wrong_row_entry, OTHER),
    _maria("stale", "an entry of what its row was before", mariadb.stale_entry, OTHER),
    _maria(
        "duplicate",
        "a second row of a unique key, and one entry",
        mariadb.duplicate_without_entry,
        {"id": 99},
        index="UNIQUE",
    ),
    _maria("aria_stale", "an entry of what its row was before", mariadb.stale_entry, OTHER, engine="Aria"),
    _maria("aria_missing", "an entry is missing", mariadb.missing_entry, engine="Aria"),
    _maria("myisam_stale", "an entry of what its row was before", mariadb.stale_entry, OTHER, engine="MyISAM"),
    _maria("myisam_missing", "an entry is missing", mariadb.missing_entry, engine="MyISAM"),
    Fault(
        "prefix_stale",
        "an entry of what its row was before, in a prefix index (InnoDB)",
        _PREFIX,
        _MARIA_ROWS,
        lambda database, table: mariadb.stale_entry(database, table, f"i_{table}", SEVENTH, {"s": "other"}),
    ),
    Fault(
        "prefix_dangling",
        "an entry whose row is gone, in a prefix index (InnoDB)",
        _PREFIX,
        _MARIA_ROWS,
        lambda database, table: mariadb.dangling_entry(database, table, f"i_{table}", SEVENTH),
    ),
    Fault(
        "upgraded",
        "a collation that sorts otherwise since (InnoDB)",
        "CREATE TABLE {t} " + _SORTED.format("utf8mb4_bin"),
        "INSERT INTO {t} VALUES " + ", ".join(f"({n}, {n}, '{word}')" for n, word in enumerate(WORDS)),
        lambda database, table: mariadb.redeclared_table(
            database, table, "CREATE TABLE twin " + _SORTED.format("utf8mb4_general_ci")
        ),
    ),
    Fault(
        "unchecked",
        "a row that a CHECK forbids (InnoDB)",
        "CREATE TABLE {t} (id INT PRIMARY KEY, v INT CHECK (v > 0), s CHAR(20))",
        _MARIA_ROWS,
        lambda database, table: mariadb.violated_check(database, table, SEVENTH, {"v": -1}),
        ALL,
    ),
    Fault(
        "orphaned",
        "a row that refers to none (InnoDB)",
        "CREATE TABLE {t} (id INT PRIMARY KEY, v INT, s CHAR(20))",
        _MARIA_ROWS + "; UPDATE {t} SET v = 1; ALTER TABLE {t} ADD FOREIGN KEY (v) REFERENCES {t} (id)",
        lambda database, table: mariadb.wrong_reference(database, table, SEVENTH, {"v": 77}),
        ALL,
    ),
]

# ----------------------------------------------------------------------------------------------------- SQLite

_LITE_ROWS = """
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
INSERT INTO {t} SELECT i, 10 * i, 's' || i FROM n"""


def _lite(name: str, words: str, index: str, recipe: Callable[..., None], *values: Any) -> Fault:
    def make(database: Any, table: str) -> None:
        recipe(database, table, f"i_{table}", SEVENTH, *values)

    return Fault(name, words, f"{TABLE}; CREATE {index.format('i_{t} ON {t}')}", _LITE_ROWS, make)


def _redeclared(name: str, words: str, index: str, old: str, new: str) -> Fault:
    return Fault(
        name,
        words,
        f"{TABLE}; CREATE {index.format('i_{t} ON {t}')}",
        _LITE_ROWS,
        lambda database, table: sqlite.redeclared(database, f"i_{table}", old, new),
    )


SQLITE = [
    _lite("missing", "an entry is missing", "INDEX {} (v)", sqlite.missing_entry),
    _lite("dangling", "an entry whose row is gone", "INDEX {} (v)", sqlite.dangling_entry),
    _lite("wrong_row", "an entry that leads to another row", "INDEX {} (v)", sqlite.wrong_row_entry, OTHER),
    _lite("stale", "an entry of what its row was before", "INDEX {} (v)", sqlite.stale_entry, OTHER),
    _lite(
        "duplicate",
        "a second row of a unique key, without an entry",
        "UNIQUE INDEX {} (v)",
        sqlite.duplicate_without_entry,
        {"id": 99},
    ),
    _redeclared("expression", "an index of another expression", "INDEX {} (v + 1, id)", "v + 1", "v + 11"),
    _redeclared("condition", "a partial index of another condition", "INDEX {} (v) WHERE v > 100", "v > 100", "v > 50"),
    _redeclared("descending", "an index in the other order", "INDEX {} (v DESC)", "v DESC", "v"),
    Fault(
        "unchecked",
        "a row that a CHECK forbids",
        TABLE.replace("v int", "v int CHECK (v > 0)"),
        _LITE_ROWS,
        lambda database, table: sqlite.violated_check(database, table, SEVENTH, {"v": -1}),
        ALL,
    ),
    Fault(
        "empty",
        "NULL in a column that is NOT NULL",
        TABLE.replace("s varchar(20)", "s varchar(20) NOT NULL"),
        _LITE_ROWS,
        lambda database, table: sqlite.null_value(database, table, "s", SEVENTH),
        ALL,
    ),
    Fault(
        "twice",
        "a key twice in a unique index",
        TABLE + "; CREATE UNIQUE INDEX i_{t} ON {t} (v)",
        _LITE_ROWS,
        lambda database, table: sqlite.duplicate_entry(database, table, f"i_{table}", SEVENTH, {"id": 99}),
        ALL,
    ),
    Fault(
        "orphaned",
        "a row that refers to none",
        TABLE.replace("v int", "v int REFERENCES {t} (id)"),
        _LITE_ROWS + "; UPDATE {t} SET v = 1",
        lambda database, table: sqlite.wrong_reference(database, table, SEVENTH, {"v": 77}),
        ALL,
    ),
]
