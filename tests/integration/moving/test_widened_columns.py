"""Tables whose columns get types that hold more, while they are followed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.troubles import arrived, followed, until
from tests.variants import later
from tieout import api
from tieout.errors import UnsupportedError
from tieout.model.move_status import MoveStatus
from tieout.model.requests import TableRequest

MARIADB = """CREATE TABLE wide (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, n SMALLINT UNSIGNED NOT NULL DEFAULT 7,
  name VARCHAR(10), memo VARCHAR(20) COMMENT 'a', price DECIMAL(5, 2), at DATETIME NOT NULL, kind ENUM('a', 'b'))"""
ROW = "(n, name, memo, price, at, kind) VALUES (1, 'one', 'memo', 1.50, '2026-01-02 03:04:05', 'a')"
WIDER = [
    "ALTER TABLE wide MODIFY n INT UNSIGNED DEFAULT 7, MODIFY COLUMN name VARCHAR(100) NULL, CHANGE memo memo TEXT",
    "UPDATE wide SET n = 4000000000 WHERE id = 1",
    "ALTER TABLE wide MODIFY id BIGINT NOT NULL AUTO_INCREMENT",
    "INSERT INTO wide (id, n, name, memo, at) VALUES (5000000000, NULL, REPEAT('é', 90), REPEAT('m', 90), '2026-1-1')",
    "ALTER TABLE wide MODIFY price DECIMAL(12, 4), MODIFY at DATETIME(6), MODIFY kind ENUM('a', 'b', 'c')",
    "INSERT INTO wide (id, n, price, at, kind) VALUES (6, 6, 12345678.1234, '2026-01-01 01:02:03.456789', 'c')",
]
"""Statements that widen each column, with rows that only the wider type holds."""
AT_ONCE = [
    "ALTER TABLE wide MODIFY n INT UNSIGNED, MODIFY name VARCHAR(100), MODIFY id BIGINT NOT NULL AUTO_INCREMENT",
    "INSERT INTO wide (id, n, name, at) VALUES (5000000000, NULL, REPEAT('é', 90), '2026-01-01')",
]


def begin(moving: Moving, table: str = MARIADB, row: str = ROW) -> Moving:
    moving.source.execute(table)
    for _ in range(3):
        moving.source.execute(f"INSERT INTO wide {row}")
    asked = moving.asking("wide")
    asked.run()
    return asked


def reasons(asked: Moving) -> list[str | None]:
    return [table["stopped"] for table in asked.run()["tables"]]


@pytest.mark.parametrize("moving", ["mariadb-postgres", later("mariadb-mariadb")], indirect=True)
def test_wider_types_are_followed_while_the_table_is(moving: Moving) -> None:
    asked = begin(moving)
    with followed(asked):
        for statement in AT_ONCE:
            moving.source.execute(statement)
        until(lambda: arrived(moving, "wide"))
    assert reasons(asked) == [None]
    moving.source.execute("ALTER TABLE wide MODIFY name VARCHAR(99)")
    with pytest.raises(UnsupportedError, match=r"varchar\(99\) may not hold every value of varchar\(100\)"):
        asked.run()


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
@pytest.mark.parametrize("copied", [False, True], ids=["first run", "later run"])
def test_a_counter_beyond_a_type_that_is_about_to_widen(moving: Moving, copied: bool) -> None:
    """The source's number is read before its log says that the column holds it."""
    moving.source.execute(MARIADB)
    moving.source.execute(f"INSERT INTO wide {ROW}")
    asked = moving.asking("wide")
    if copied:
        asked.run()
        moving.source.execute(f"INSERT INTO wide {ROW}")
    states: list[str] = []

    def listen(status: MoveStatus) -> None:
        """Changes the table once the end of the log is known up to which the mover catches up."""
        states.append(status.state)
        if not copied and states == ["copying"]:
            moving.source.execute(f"INSERT INTO wide {ROW}")
        if status.changes and "widened" not in states:
            states.append("widened")
            for statement in AT_ONCE:
                moving.source.execute(statement)

    api.run_move(asked.request, spark=asked.spark, meta=asked.meta, until_caught_up=True, listener=listen)
    assert "widened" in states
    assert reasons(asked) == [None]
    assert arrived(moving, "wide")
    moving.target.execute("INSERT INTO wide (n, at) VALUES (1, now())")
    assert moving.target.rows("SELECT max(id) FROM wide") == [(5_000_000_001,)]


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
def test_a_table_whose_values_are_written_with_more_digits_is_no_other_table(moving: Moving) -> None:
    """What was applied last is there, although not in the same text."""
    asked = begin(moving)
    moving.source.execute("UPDATE wide SET price = 2.50")
    moving.source.execute("ALTER TABLE wide MODIFY price DECIMAL(9, 4)")
    assert reasons(asked) == [None]
    moving.target.execute("VACUUM FULL wide")
    moving.source.execute("UPDATE wide SET price = 3.1234 WHERE id = 1")
    assert reasons(asked) == [None]
    assert arrived(moving, "wide")


@pytest.mark.parametrize("moving", ["mariadb-mariadb", later("mariadb-postgres")], indirect=True)
def test_wider_types_are_followed_by_a_mover_that_comes_later(moving: Moving) -> None:
    """Each column had other types since: the log has rows of all of them."""
    asked = begin(moving)
    for statement in WIDER:
        moving.source.execute(statement)
    assert reasons(asked) == [None]
    assert arrived(moving, "wide")


POSTGRES = (
    "CREATE TYPE kind AS ENUM ('a', 'b')",
    """CREATE TABLE wide (id SERIAL PRIMARY KEY, n SMALLINT NOT NULL DEFAULT 7, name VARCHAR(10), memo VARCHAR(20),
      price NUMERIC(5, 2), kind kind, word VARCHAR(5) COLLATE "C")""",
)
POSTGRES_ROW = "(n, name, memo, price, kind, word) VALUES (1, 'one', 'memo', 1.50, 'a', 'ab')"
POSTGRES_WIDER = [
    "ALTER TABLE wide ALTER n TYPE INT, ALTER n DROP NOT NULL, ALTER id TYPE BIGINT",
    "UPDATE wide SET n = 2000000000 WHERE id = 1",
    "INSERT INTO wide (id, n, name) VALUES (5000000000, NULL, 'some')",
    "DELETE FROM wide WHERE id = 2",
]
WITHOUT_A_TRACE = [
    "ALTER TABLE wide ALTER name TYPE VARCHAR(100), ALTER memo TYPE TEXT, ALTER price TYPE NUMERIC(12, 2)",
    'ALTER TABLE wide ALTER word TYPE VARCHAR(50) COLLATE "C", ALTER n DROP NOT NULL',
    "ALTER TYPE kind ADD VALUE 'c'",
    "INSERT INTO wide (id, n, name, memo, word) VALUES (4, NULL, repeat('é', 90), repeat('m', 500), repeat('w', 40))",
    "INSERT INTO wide (id, price, kind) VALUES (5, 1234567890.12, 'c')",
]
"""Statements that leave the file of the table as it is."""


def begin_postgres(moving: Moving) -> Moving:
    moving.source.execute(POSTGRES[0])
    return begin(moving, POSTGRES[1], POSTGRES_ROW)


@pytest.mark.parametrize("statements", [POSTGRES_WIDER, later(WITHOUT_A_TRACE)], ids=["rewritten", "not rewritten"])
@pytest.mark.parametrize("moving", ["postgres-mariadb", later("postgres-postgres")], indirect=True)
def test_wider_types_of_postgres_are_followed_while_the_table_is(moving: Moving, statements: list[str]) -> None:
    asked = begin_postgres(moving)
    with followed(asked):
        for statement in statements:
            moving.source.execute(statement)
        until(lambda: arrived(moving, "wide"))
    assert reasons(asked) == [None]


@pytest.mark.parametrize("statements", [POSTGRES_WIDER, WITHOUT_A_TRACE], ids=["rewritten", "not rewritten"])
@pytest.mark.parametrize("moving", ["postgres-postgres", later("postgres-mariadb")], indirect=True)
def test_wider_types_of_postgres_are_followed_by_a_mover_that_comes_later(
    moving: Moving, statements: list[str]
) -> None:
    asked = begin_postgres(moving)
    for statement in statements:
        moving.source.execute(statement)
    assert reasons(asked) == [None]
    assert arrived(moving, "wide")


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
def test_merged_and_transformed_tables_are_widened_too(moving: Moving) -> None:
    for name in ("part_1", "part_2", "sums"):
        moving.source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, n SMALLINT, at DATETIME, left_out INT)")
        moving.source.execute(f"INSERT INTO {name} VALUES (1, 2, '2026-01-02 03:04:05', 4)")
    tables = (
        TableRequest("part_*", "parts", exclude_columns=("left_out",), expressions={"part": ("_table", "")}),
        TableRequest("sums", where="n > 0", expressions={"label": ("concat('n', n)", ""), "day": ("to_date(at)", "")}),
    )
    asked = moving.asking()
    asked = replace(asked, request=replace(asked.request, tables=tables))
    asked.run()
    for statement in (
        "ALTER TABLE part_1 MODIFY n INT, MODIFY id BIGINT, MODIFY left_out VARCHAR(5)",
        "INSERT INTO part_1 VALUES (5000000000, 70000, NULL, 'new')",
        "ALTER TABLE part_2 MODIFY n BIGINT, MODIFY at DATETIME(3)",
        "INSERT INTO part_2 VALUES (2, 5000000000, '2026-01-02 03:04:05.678', 4)",
        "ALTER TABLE sums MODIFY n BIGINT",
        "INSERT INTO sums VALUES (2, 5000000000, NULL, 4)",
    ):
        moving.source.execute(statement)
    assert reasons(asked) == [None] * 3
    wanted = "SELECT id, n, at, 'part_{0}' FROM part_{0}"
    source = moving.source.rows(f"{wanted.format(1)} UNION ALL {wanted.format(2)}")
    assert sorted(moving.target.rows("SELECT id, n, at, part FROM parts"), key=repr) == sorted(source, key=repr)
    assert moving.target.rows("SELECT id, n, label FROM sums WHERE id = 2") == [(2, 5000000000, "n5000000000")]
    moving.source.execute("ALTER TABLE sums MODIFY at DATETIME(6)")
    moving.source.execute("INSERT INTO sums VALUES (3, 1, NULL, 4)")
    assert ["might round" in (reason or "") for reason in reasons(asked)] == [False, False, True]


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
def test_columns_that_the_user_made(moving: Moving) -> None:
    """They stay as they are if they have room, and are not replaced by another type if they have none."""
    columns = {"roomy": ("NUMERIC(30, 5)", "TEXT"), "tight": ("NUMERIC(5)", "VARCHAR(9)")}
    for name, (number, text) in columns.items():
        moving.source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, n SMALLINT, t VARCHAR(9))")
        moving.source.execute(f"INSERT INTO {name} VALUES (1, 1, 'one')")
        moving.target.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, n {number}, t {text})")
    asked = moving.asking(*columns)
    asked.run()
    for name in columns:
        moving.source.execute(f"ALTER TABLE {name} MODIFY t VARCHAR(99), MODIFY n BIGINT")
        moving.source.execute(f"INSERT INTO {name} VALUES (2, 5000000000, REPEAT('t', 50))")
    roomy, tight = reasons(asked)
    assert roomy is None
    assert arrived(moving, "roomy")
    assert "the column n of public.tight is numeric(5,0), and has no room for bigint" in (tight or "")
    types = moving.target.rows(
        "SELECT data_type FROM information_schema.columns WHERE table_name = 'roomy' ORDER BY ordinal_position"
    )
    assert types == [("integer",), ("numeric",), ("text",)]


@pytest.mark.parametrize("moving", ["mariadb-mariadb"], indirect=True)
def test_a_text_whose_character_set_changes_with_its_length(moving: Moving) -> None:
    """MODIFY without a character set gives the column that of the table: letters may be lost."""
    moving.source.execute(
        "CREATE TABLE wide (id INT PRIMARY KEY, t VARCHAR(9) CHARACTER SET utf8mb4) CHARACTER SET latin1"
    )
    moving.source.execute("INSERT INTO wide VALUES (1, 'a')")
    asked = moving.asking("wide")
    asked.run()
    moving.source.execute("ALTER TABLE wide MODIFY t VARCHAR(20) CHARACTER SET utf8mb4")
    moving.source.execute("INSERT INTO wide VALUES (2, REPEAT('ж', 20))")
    assert reasons(asked) == [None]
    assert arrived(moving, "wide")
    moving.source.execute("DELETE FROM wide WHERE id = 2")
    moving.source.execute("ALTER TABLE wide MODIFY t VARCHAR(30)")
    moving.source.execute("ALTER TABLE wide MODIFY t VARCHAR(30) CHARACTER SET utf8mb4")
    with pytest.raises(UnsupportedError, match="got another character set or collation"):
        asked.run()


SAME_TYPE_OTHER_VALUES = {
    "shouted": (["ALTER TABLE shouted ALTER t TYPE TEXT USING upper(t)"], "perhaps with other values"),
    "one_row": (
        ["ALTER TABLE one_row ALTER a TYPE BIGINT USING CASE id WHEN 3 THEN 9 ELSE a END"],
        "1 of its rows got other values",
    ),
    "hidden": (
        ["ALTER TABLE hidden ALTER a TYPE BIGINT USING a + 1", "ALTER TABLE hidden ALTER a SET DEFAULT 5"],
        "it is unknown which of its rows",
    ),
    "granted": (
        [
            "ALTER TABLE granted ALTER a TYPE BIGINT USING a + 1",
            "ALTER TABLE granted ALTER a SET DEFAULT 5; GRANT SELECT ON granted TO PUBLIC",
        ],
        "it is unknown which of its rows",
    ),
    "keys": (["ALTER TABLE keys ALTER id TYPE BIGINT USING 4 - id"], "of its rows got other values"),
    "narrower": (["ALTER TABLE narrower ALTER a TYPE SMALLINT"], "smallint may not hold every value of integer"),
    "rounded": (["ALTER TABLE rounded ALTER at TYPE TIMESTAMP(6)"], "were rounded"),
}
"""Statements of PostgreSQL, by the table that they stop, and why."""


@pytest.mark.parametrize("moving", ["postgres-mariadb", later("postgres-postgres")], indirect=True)
def test_types_of_postgres_that_may_have_changed_values(moving: Moving) -> None:
    for name in (*SAME_TYPE_OTHER_VALUES, "good"):
        moving.source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, a INT, t VARCHAR(9), at TIMESTAMP(0))")
        moving.source.execute(f"INSERT INTO {name} SELECT n, n, 'text', now() FROM generate_series(1, 5) n")
    asked = moving.asking(*SAME_TYPE_OTHER_VALUES, "good")
    asked.run()
    changes = [statement for statements, _ in SAME_TYPE_OTHER_VALUES.values() for statement in statements]
    for statement in [*changes, "ALTER TABLE good ALTER a TYPE BIGINT", "UPDATE good SET a = 5000000000 WHERE id = 1"]:
        moving.source.execute(statement)
    *stopped, good = reasons(asked)
    for reason, (name, (_, wanted)) in zip(stopped, SAME_TYPE_OTHER_VALUES.items(), strict=True):
        assert wanted in (reason or ""), name
    assert good is None
    assert arrived(moving, "good")


@pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
def test_what_the_catalog_of_types_does_not_show(moving: Moving) -> None:
    """No column has another type: a value that does not fit is what reveals it."""
    asked = begin_postgres(moving)
    moving.source.execute("ALTER TABLE wide ALTER n DROP NOT NULL")
    moving.source.execute("INSERT INTO wide (id, n) VALUES (4, NULL)")
    assert reasons(asked) == [None]
    moving.source.execute("ALTER TYPE kind ADD VALUE 'c'")
    moving.source.execute("INSERT INTO wide (id, kind) VALUES (5, 'c')")
    assert reasons(asked) == [None]
    assert arrived(moving, "wide")
