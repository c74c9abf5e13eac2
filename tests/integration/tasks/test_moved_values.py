"""What a move makes of computed values, and which it refuses: a text is not always what a column reads in it."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import assert_equal, computed, found, verified, with_task
from tests.variants import later
from tieout.errors import TieoutError
from tieout.model.requests import TableRequest

WORDS = ("abc", "xyz1z", "é", "\\x41", "a\\b", "1'); --", "", None)


@pytest.mark.parametrize("inserts", [False, True])
def test_texts_for_a_column_of_bytes_are_their_bytes_on_mariadb(mariadb_to_mariadb: Moving, inserts: bool) -> None:
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9))")
    source.executemany("INSERT INTO t VALUES (%s, %s)", list(enumerate(WORDS)))
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, code VARBINARY(20), digits BINARY(4), raw BLOB)")
    moving = computed(mariadb_to_mariadb, code="concat(code, '')", digits="id + 10", raw="CAST(code AS BINARY)")
    if inserts:
        target.server.execute(None, "SET GLOBAL local_infile = 0")
    try:
        moving.run()
    finally:
        target.server.execute(None, "SET GLOBAL local_infile = 1")
    octets = [None if word is None else word.encode() for word in WORDS]
    assert target.rows("SELECT code, digits, raw FROM t ORDER BY id") == [
        (each, b"%d\0\0" % (place + 10), each) for place, each in enumerate(octets)
    ]
    assert_equal(moving)
    target.execute("UPDATE t SET code = 'abd' WHERE id = 0")
    assert found(verified(moving)) == {"t": {("changed", ("0",))}}


def test_texts_for_a_column_of_bytes_are_their_bytes_on_postgresql(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9))")
    source.executemany("INSERT INTO t VALUES (%s, %s)", list(enumerate(WORDS)))
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, code BYTEA)")
    moving = computed(mariadb_to_postgres, code="concat(code, '')")
    moving.run()
    stored = [each and bytes(each) for (each,) in target.rows("SELECT code FROM t ORDER BY id")]
    assert stored == [word and word.encode() for word in WORDS[:-2]] + [b"", None]
    assert_equal(moving)


def test_a_text_that_is_no_geometry_is_refused(mariadb_to_mariadb: Moving) -> None:
    """It became NULL."""
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    source.execute("INSERT INTO t VALUES (1)")
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, place POINT)")
    with pytest.raises(TieoutError, match="Cannot get geometry object"):
        computed(mariadb_to_mariadb, place="concat('POINT(', id, ' 1)')").run()
    assert target.rows("SELECT * FROM t") == []


@pytest.mark.parametrize(("held", "renamed"), [("DOUBLE", "DOUBLE(10,2)"), ("FLOAT(7,3)", "FLOAT(7,2)")])
def test_a_renamed_float_that_would_be_rounded_is_refused(mariadb_to_mariadb: Moving, held: str, renamed: str) -> None:
    mariadb_to_mariadb.source.execute(f"CREATE TABLE t (id INT PRIMARY KEY, price {held})")
    mariadb_to_mariadb.target.execute(f"CREATE TABLE t (id INT PRIMARY KEY, total {renamed})")
    with pytest.raises(TieoutError, match=r"price: .* rounds what .* holds"):
        computed(mariadb_to_mariadb, "price", total="price").run()


def test_a_float_in_a_column_of_doubles_is_the_same_number(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, w FLOAT, v FLOAT)")
    source.executemany("INSERT INTO t VALUES (%s, %s, %s)", [(1, 0.1, 0.1), (2, -16777216, 3e38), (3, None, None)])
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, w DOUBLE PRECISION, v2 DOUBLE PRECISION, half REAL)")
    moving = computed(mariadb_to_postgres, "v", v2="v", half="v / 2")
    moving.run()
    assert target.rows("SELECT w, v2 FROM t WHERE id = 1") == [(0.10000000149011612, 0.10000000149011612)]
    assert_equal(moving)
    target.execute("UPDATE t SET v2 = 0.1 WHERE id = 1")
    assert found(verified(moving)) == {"t": {("changed", ("1",))}}


@pytest.mark.parametrize(
    ("held", "literal", "instead", "there", "value"),
    [
        ("BIT(4)", "5", "CAST(conv(CAST(b AS STRING), 2, 10) AS BIGINT)", "INT", 5),
        ("UUID", f"'{UUID(int=7)}'", "unhex(replace(b, '-', ''))", "BINARY(16)", UUID(int=7).bytes),
    ],
)
def test_a_column_whose_text_means_something_else_is_not_only_renamed(
    mariadb_to_mariadb: Moving, held: str, literal: str, instead: str, there: str, value: object
) -> None:
    """The bits 0101 became the number 101."""
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    source.execute(f"CREATE TABLE t (id INT PRIMARY KEY, b {held})")
    source.execute(f"INSERT INTO t VALUES (1, {literal})")
    target.execute(f"CREATE TABLE t (id INT PRIMARY KEY, n {there})")
    with pytest.raises(TieoutError) as refused:
        computed(mariadb_to_mariadb, "b", n="b").run()
    assert f"compute {instead}" in refused.value.message
    moving = computed(mariadb_to_mariadb, "b", n=instead)
    moving.run()
    assert target.rows("SELECT n FROM t") == [(value,)]
    assert_equal(moving)


@pytest.mark.parametrize("inserts", [False, later(True)])
def test_a_year_that_is_renamed_is_the_same_year(mariadb_to_mariadb: Moving, inserts: bool) -> None:
    """0000 became 2000."""
    source, target = mariadb_to_mariadb.source, mariadb_to_mariadb.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, yr YEAR)")
    source.executemany("INSERT INTO t VALUES (%s, %s)", [(1, 0), (2, 1901), (3, 2155), (4, None), (5, "0")])
    moving = computed(mariadb_to_mariadb, "yr", r="yr")
    if inserts:
        target.server.execute(None, "SET GLOBAL local_infile = 0")
    try:
        moving.run()
        source.execute("INSERT INTO t VALUES (6, 0), (7, 2024)")
        moving.run()
    finally:
        target.server.execute(None, "SET GLOBAL local_infile = 1")
    assert target.rows("SELECT id, r + 0 FROM t ORDER BY id") == source.rows("SELECT id, yr + 0 FROM t ORDER BY id")
    assert target.rows("SELECT r + 0 FROM t WHERE id = 6") == [(0,)]
    assert_equal(moving)
    target.execute("UPDATE t SET r = 2000 WHERE id = 1")
    assert found(verified(moving)) == {"t": {("changed", ("1",))}}


@pytest.mark.parametrize(
    ("expression", "number"),
    [("y + 0", 1), ("y + 0", 99), later("CAST(y AS DECIMAL(9, 1))", 5), later("CAST(y AS DOUBLE)", 24)],
)
def test_a_number_that_is_no_year_stops_its_table(postgres_to_mariadb: Moving, expression: str, number: int) -> None:
    """1 became 2001."""
    source, target = postgres_to_mariadb.source, postgres_to_mariadb.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, y INT)")
    source.executemany("INSERT INTO t VALUES (%s, %s)", [(1, 0), (2, 2024), (3, None)])
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, y YEAR)")
    moving = computed(postgres_to_mariadb, y="y + 0" if expression == "y + 0" else f"CAST({expression} AS INT)")
    moving.run()
    assert target.rows("SELECT id, y + 0 FROM t ORDER BY id") == [(1, 0), (2, 2024), (3, None)]
    assert_equal(moving)
    moving.drop()
    target.execute("DELETE FROM t")
    source.execute("INSERT INTO t VALUES (%s, %s)", 4, number)
    with pytest.raises(TieoutError, match="Data truncated for column 'y' at row 4"):
        computed(postgres_to_mariadb, y=expression).run()
    assert target.rows("SELECT * FROM t") == []
    target.executemany("INSERT INTO t VALUES (%s, %s)", [(1, "0000"), (2, 2024), (3, None), (4, 2000 + number)])
    assert found(verified(computed(postgres_to_mariadb, y=expression))) == {"t": {("changed", ("4",))}}


@pytest.mark.parametrize("expression", ["concat(s, '')", "s"])
def test_a_computed_text_is_not_shortened(mariadb_to_postgres: Moving, expression: str) -> None:
    """PostgreSQL drops spaces that are too much, and says nothing."""
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20))")
    source.executemany("INSERT INTO t VALUES (%s, %s)", [(1, "abc "), (2, "éé😀 "), (3, None)])
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(4))")
    moving = computed(mariadb_to_postgres, "s", c=expression)
    moving.run()
    assert target.rows("SELECT c FROM t ORDER BY id") == [("abc ",), ("éé😀 ",), (None,)]
    assert_equal(moving)
    source.execute("UPDATE t SET s = 'xyz   ' WHERE id = 1")
    with pytest.raises(TieoutError, match="value too long"):
        moving.run()
    assert target.rows("SELECT c FROM t WHERE id = 1") == [("abc ",)]
    moving.drop()
    target.execute("DELETE FROM t")
    with pytest.raises(TieoutError, match="value too long"):
        moving.run()
    assert target.rows("SELECT * FROM t") == []


@pytest.mark.parametrize("expression", ["concat(s, '')", None])
def test_a_text_that_goes_to_a_name_is_refused(mariadb_to_postgres: Moving, expression: str | None) -> None:
    """70 letters became 63."""
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(70), short VARCHAR(15))")
    source.execute("INSERT INTO t VALUES (1, repeat('x', 70), repeat('é', 15))")
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, s NAME, short NAME)")
    with pytest.raises(TieoutError, match="s: PostgreSQL silently cuts a text off after 63 bytes"):
        computed(mariadb_to_postgres, **({"s": expression} if expression else {})).run()
    with_task(mariadb_to_postgres, TableRequest("t", columns=("id", "short"))).run()
    assert target.rows("SELECT short FROM t") == [("é" * 15,)]
