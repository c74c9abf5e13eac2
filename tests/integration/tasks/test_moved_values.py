"""What a move makes of computed values, and which it refuses: a text is not always what a column reads in it."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import assert_equal, computed, found, verified
from tieout.errors import TieoutError

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
