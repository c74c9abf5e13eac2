"""An index read from its pages holds, for each row of its table, the row's address and the values it is by."""

from __future__ import annotations

import threading
from itertools import pairwise

import pyarrow as pa
import pytest

from tests.integration.checking.holding import as_table, assert_same, held, holds, index_of, parts, told
from tests.servers.server import Database
from tieout.config.urls import parse_url
from tieout.connectors.postgres.check.index_reader import IndexReader
from tieout.errors import MissingObjectError, UnsupportedError
from tieout.model.tables import TableName


@pytest.mark.parametrize("method", ["pglz", "lz4"])
def test_long_text_that_is_compressed_in_the_index(db: Database, method: str) -> None:
    db.execute(f'ALTER DATABASE "{db.name}" SET default_toast_compression = {method}')
    db.execute("""
        CREATE TABLE t (v text, n numeric, y bytea);
        INSERT INTO t SELECT repeat(left(md5(i::text), 1 + i % 30), 20 * (i % 100)), repeat('12', i % 400)::numeric,
          decode(repeat(lpad(to_hex(i), 2, '0'), i), 'hex') FROM generate_series(2, 150) i;
        INSERT INTO t VALUES (repeat('a', 3000), 1, ''), (repeat('ab', 40000), 2, '');
        INSERT INTO t VALUES (NULL, 3, '\\x00');
        CREATE INDEX i ON t (v, n); CREATE INDEX j ON t (n, v, y)""")
    for index in ("i", "j"):
        holds(db, index)
    longest = db.rows("SELECT max(octet_length(v)) FROM t")[0][0]
    stored = db.rows("SELECT max(itemlen) FROM generate_series(1, 2) b, bt_page_items('i', b)")[0][0]
    assert (longest, stored < 1500) == (80000, True)


def test_long_text_that_can_not_be_compressed(db: Database) -> None:
    db.execute("""
        CREATE TABLE t (v text);
        INSERT INTO t SELECT (SELECT string_agg(md5(i::text || j::text), '') FROM generate_series(1, 70) j)
        FROM generate_series(1, 50) i;
        CREATE INDEX i ON t (v)""")
    assert min(len(v) for v in holds(db).column("v").to_pylist()) == 2240


def test_many_rows_of_one_key(db: Database) -> None:
    db.execute("""
        CREATE TABLE t (few int2, word text, none int8);
        INSERT INTO t SELECT nullif(i % 5, 4), nullif('word ' || i % 7, 'word 6') FROM generate_series(1, 20000) i;
        CREATE INDEX i ON t (few); CREATE INDEX j ON t (word, few); CREATE INDEX k ON t (none)""")
    for index in "ijk":
        assert holds(db, index).num_rows == 20000
        assert db.rows(f"SELECT count(*) FROM bt_page_items('{index}', 1) WHERE tids IS NOT NULL")[0][0] > 1


def test_a_tree_of_several_levels_grown_row_by_row(db: Database) -> None:
    db.execute("""
        CREATE TABLE t (v text, n int4); CREATE INDEX i ON t (v, n);
        INSERT INTO t SELECT (SELECT string_agg(md5(i::text || j::text), '') FROM generate_series(1, 16) j), i
        FROM generate_series(1, 3000) i""")
    assert db.rows("SELECT level FROM bt_metap('i')")[0][0] >= 2
    assert holds(db).num_rows == 3000


def test_an_empty_index_and_one_of_a_single_page(db: Database) -> None:
    db.execute("CREATE TABLE t (v int4); CREATE INDEX i ON t (v)")
    assert parts(db, index_of(db, "i"))[0].values.schema.field("v").type == pa.int32()
    assert held(db, "i").num_rows == 0
    db.execute("INSERT INTO t VALUES (1), (2), (NULL)")
    assert holds(db).column("v").to_pylist() == [1, 2, None]


def test_pages_that_were_deleted_hold_nothing(db: Database) -> None:
    db.execute("CREATE TABLE t (v int4, w text); INSERT INTO t SELECT i, i FROM generate_series(1, 20000) i")
    db.execute("CREATE INDEX i ON t (v); CREATE INDEX j ON t (w)")
    db.execute("DELETE FROM t WHERE v BETWEEN 3000 AND 15000")
    assert held(db, "i").num_rows == 20000  # until a VACUUM the index holds what its table has lost
    db.execute("VACUUM t")
    blocks = IndexReader(parse_url(db.url)).blocks(index_of(db, "i"))
    pages = f"generate_series(1, {blocks - 1}) b, bt_page_stats('i', b) s"
    assert db.rows(f"SELECT count(*) FROM {pages} WHERE s.type = 'd'")[0][0] > 10
    assert holds(db, "i").num_rows == holds(db, "j").num_rows == 7999
    db.execute("INSERT INTO t SELECT i, i FROM generate_series(5000, 9000) i")
    assert holds(db, "i").num_rows == holds(db, "j").num_rows == 12000


def test_items_that_are_marked_as_dead_are_counted_and_left_out(db: Database) -> None:
    db.execute("CREATE TABLE t (v int4); INSERT INTO t SELECT generate_series(1, 2000); CREATE INDEX i ON t (v)")
    db.execute("DELETE FROM t WHERE v <= 300")
    with db.connect() as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_bitmapscan = off")
        connection.execute("SELECT sum(v) FROM t WHERE v BETWEEN 0 AND 1000")
    assert sum(int(part.pages.dead.sum()) for part in parts(db, index_of(db, "i"))) == 300
    assert holds(db).num_rows == 1700


# ------------------------------------------------------------------------------------------------ sorts of index


def test_partial_expression_and_descending_indexes(db: Database) -> None:
    db.execute("""
        CREATE TABLE t (a int4, "b c" text);
        INSERT INTO t SELECT nullif(i % 50, 0), 'Word ' || i FROM generate_series(1, 1000) i;
        CREATE INDEX part ON t ("b c") WHERE a > 25;
        CREATE INDEX expr ON t (lower("b c"), (a + 1), (a::text || "b c"), a);
        CREATE INDEX down ON t (a DESC NULLS LAST, "b c" DESC);
        CREATE INDEX pattern ON t ("b c" text_pattern_ops)""")
    assert holds(db, "part", "a > 25").num_rows == 480
    for index in ("expr", "down", "pattern"):
        assert holds(db, index).num_rows == 1000


def test_entries_come_in_the_order_of_keys_along_the_pages(db: Database) -> None:
    db.execute("CREATE TABLE t (v int4); CREATE INDEX i ON t (v)")
    db.execute("INSERT INTO t SELECT i * 7919 % 20011 FROM generate_series(1, 20000) i")
    (part,) = parts(db, index_of(db, "i"))
    after = dict(zip(part.pages.blocks.tolist(), part.pages.right.tolist(), strict=True))
    (block,) = part.pages.blocks[part.pages.left == 0].tolist()
    in_order: list[int] = []
    values = part.values.column("v").to_numpy()
    while block:
        here = part.blocks == block
        assert part.items[here].tolist() == sorted(part.items[here].tolist())
        in_order += values[here].tolist()
        block = after[block]
    assert in_order == sorted(i * 7919 % 20011 for i in range(1, 20001))


def test_each_entry_tells_where_in_the_index_it_is(db: Database) -> None:
    db.execute("CREATE TABLE t (v int4); INSERT INTO t SELECT i / 3 FROM generate_series(1, 9000) i")
    db.execute("CREATE INDEX i ON t (v)")
    (part,) = parts(db, index_of(db, "i"))
    inspected = db.rows(
        """
        SELECT b, itemoffset, ((tid::text::point)[0]::int8 << 16) + (tid::text::point)[1]::int8
        FROM unnest(%s::int[]) b, bt_page_stats('i', b), bt_page_items('i', b), unnest(coalesce(tids, ARRAY[htid])) tid
        WHERE itemoffset > (btpo_next > 0)::int ORDER BY 1, 2, 3""",
        part.pages.blocks.tolist(),
    )
    assert list(zip(*(each.tolist() for each in (part.blocks, part.items, part.addresses)), strict=True)) == inspected


def test_ranges_of_blocks_add_up(db: Database) -> None:
    db.execute("CREATE TABLE t (v text); INSERT INTO t SELECT md5(i::text) FROM generate_series(1, 9000) i")
    db.execute("CREATE INDEX i ON t (v)")
    tree, reader = index_of(db, "i"), IndexReader(parse_url(db.url))
    cuts = [0, 1, 2, 17, 17, reader.blocks(tree) + 100]
    ranges = [part for first, last in pairwise(cuts) for part in reader.entries(tree, first, last)]
    assert_same(as_table(ranges), told(db, "i"))
    assert list(reader.entries(tree, 10_000, 20_000)) == []


def test_names_that_have_to_be_quoted_in_a_schema_off_the_path(pg_db: Database) -> None:
    pg_db.execute("""
        CREATE SCHEMA "my 'own'"; CREATE EXTENSION pageinspect SCHEMA "my 'own'";
        CREATE TABLE "my 'own'"."T" (v int4); INSERT INTO "my 'own'"."T" VALUES (7);
        CREATE INDEX "i "" '" ON "my 'own'"."T" (v)""")
    reader = IndexReader(parse_url(pg_db.url))
    tree = reader.find(TableName("my 'own'", "i \" '"))
    assert [part.values.to_pydict() for part in reader.entries(tree, 0, 9)] == [{"v": [7]}]


def test_what_can_not_be_read_is_refused(pg_db: Database) -> None:
    pg_db.execute("CREATE TABLE t (v int4) PARTITION BY RANGE (v); CREATE INDEX i ON t (v)")
    pg_db.execute("CREATE TABLE u (v int4); CREATE INDEX h ON u USING hash (v); CREATE INDEX b ON u (v)")
    for name, error, words in (
        ("nowhere", MissingObjectError, "index public.nowhere does not exist"),
        ("h", UnsupportedError, "not a B-tree"),
        ("i", UnsupportedError, "partitioned"),
        ("b", UnsupportedError, "CREATE EXTENSION pageinspect"),
    ):
        with pytest.raises(error, match=words):
            index_of(pg_db, name)


# --------------------------------------------------------------------------------------------- others, and chance


def test_others_may_write_meanwhile(db: Database) -> None:
    """No error comes of it, and what is told of rows that nobody touches is right."""
    db.execute("CREATE TABLE t (v int4, w text); CREATE INDEX i ON t (v, w)")
    db.execute("INSERT INTO t SELECT i * 10, 'still ' || i FROM generate_series(1, 5000) i")
    still = {row["address"]: (row["v"], row["w"]) for row in held(db, "i").to_pylist()}

    def write() -> None:
        with db.connect() as connection:
            for turn in range(25):
                connection.execute(
                    "INSERT INTO t SELECT i * 10 + %s, 'gone' FROM generate_series(1, 5000) i", [turn % 9]
                )
                connection.execute("DELETE FROM t WHERE w = 'gone'")
                connection.execute("VACUUM t")

    tree = index_of(db, "i")
    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while writer.is_alive():
        for row in as_table(parts(db, tree)).to_pylist():
            expected = still.get(row["address"])
            assert expected in (None, (row["v"], row["w"]))
            seen += expected is not None
    writer.join()
    db.execute("VACUUM t")  # the ones before kept what a read of that moment might have wanted
    assert seen
    assert holds(db).num_rows == 5000
