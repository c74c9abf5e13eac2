"""Pages that no server wrote: the index and the block are named, and nothing worse comes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.integration.checking.holding import index_of
from tests.servers.server import Database
from tieout.codecs.postgres_pages.btree_pages import leaves
from tieout.codecs.postgres_pages.spans import PageCorruption, Spans
from tieout.codecs.postgres_pages.tuples import decode
from tieout.codecs.postgres_pages.values import numerics
from tieout.connectors.postgres.check.index_reader import BTree, pages_statement
from tieout.errors import ReadError

Pages = tuple[BTree, list[int], np.ndarray[Any, Any]]


@pytest.fixture(params=["a, b, n, k, m, z", "m, a, b"], ids=["all sorts", "lists of rows"])
def pages(db: Database, request: pytest.FixtureRequest) -> Pages:
    """An index, and its pages. One that has a numeric keeps no lists of rows."""
    db.execute("""
        CREATE TABLE t (a int2, b text, n numeric, k name, m mood, z timestamptz);
        INSERT INTO t SELECT nullif(i % 4, 0), repeat(md5(i::text), 1 + i % 40), i / 7.0, 'k' || i, 'ok', now()
        FROM generate_series(1, 400) i;
        INSERT INTO t SELECT NULL, 'same', NULL, 'same', 'sad', NULL FROM generate_series(1, 400) i""")
    db.execute(f"CREATE INDEX i ON t ({request.param})")
    tree = index_of(db, "i")
    with db.connect() as connection, connection.cursor(binary=True) as cursor:
        rows = cursor.execute(pages_statement(tree.name, tree.inspector, 0, 1000)).fetchall()
    return tree, [block for block, _ in rows], np.array([list(page) for _, page in rows], dtype=np.uint8)


def headers(page: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where the tuples of a page begin."""
    end = int(page[12:14].view("<u2")[0])
    return page[24:end].view("<u4").astype(np.int64) & 0x7FFF


def read_pages(tree: BTree, blocks: list[int], octets: np.ndarray[Any, Any]) -> int:
    page = pa.array([row.tobytes() for row in octets], pa.binary())
    found = leaves(str(tree.name), pa.RecordBatch.from_arrays([pa.array(blocks), page], names=["block", "page"]))
    return decode(str(tree.name), found.tuples, tree.attributes).num_rows


@pytest.mark.parametrize(
    ("at", "octets", "words"),
    [
        (18, b"\x20\x04", "unknown layout or byte order"),
        (16, b"\x00\x20", "not a page of a B-tree"),
        (14, b"\x00\x00", "points outside of the page"),
        (8184, b"\x01", "contradicts itself about whether it is a leaf"),
        (12, b"\xff\xff", "points outside of the page"),
        (28, b"\x00\x00\x00\x00", "neither live nor dead"),
        (28, b"\xf8\xff\x20\x00", "lies outside of the page"),
    ],
)
def test_a_page_that_is_garbled_is_named(pages: Pages, at: int, octets: bytes, words: str) -> None:
    tree, blocks, good = pages
    bad = good.copy()
    bad[1, at : at + len(octets)] = list(octets)
    with pytest.raises(ReadError, match=f"index public.i, block 1: .*{words}"):
        read_pages(tree, blocks, bad)


def test_garbage_is_a_read_error_or_other_values_and_nothing_else(
    pages: Pages,
) -> None:
    tree, blocks, good = pages
    assert read_pages(tree, blocks, good) > 200
    rng = np.random.default_rng(11)
    told_of = []
    for _ in range(500):
        bad = good.copy()
        page = rng.integers(1, len(bad))
        places = rng.integers(0, bad.shape[1], rng.choice([1, 5, 50, 500]))
        if rng.integers(2):
            places = rng.choice(headers(bad[page]), 3) + rng.integers(0, 16, 3)
        bad[page, places] = rng.integers(0, 256, len(places))
        try:
            read_pages(tree, blocks, bad)
        except ReadError as error:
            told_of.append((error.message, f"index public.i, block {blocks[page]}: "))
    assert 100 < len(told_of) < 500
    assert all(where in message for message, where in told_of)


@pytest.mark.parametrize("pages", ["m, a, b"], indirect=True)
@pytest.mark.parametrize(
    ("at", "octets"), [(4, b"\xff\x3f"), (4, b"\x00\x20"), (0, b"\xff\xff"), (2, b"\x1c"), (4, b"\x02\0")]
)
def test_a_list_of_rows_that_is_garbled(pages: Pages, at: int, octets: bytes) -> None:
    tree, blocks, good = pages
    bad = good.copy()
    lists = [tuple_ for tuple_ in headers(bad[1]).tolist()[1:] if bad[1, tuple_ + 7] & 0x20]
    bad[1, lists[0] + at : lists[0] + at + len(octets)] = list(octets)
    with pytest.raises(ReadError, match="block 1: the list of rows of one of its tuples is garbled"):
        read_pages(tree, blocks, bad)


@pytest.mark.parametrize("stored", ["", "00", "0000", "00c1", "00801027"])
def test_a_number_that_is_garbled(stored: str) -> None:
    octets = np.frombuffer(bytes.fromhex(stored) + bytes(8), dtype=np.uint8)
    with pytest.raises(PageCorruption, match="a number is garbled"):
        numerics(Spans(octets, np.array([0]), np.array([len(stored) // 2])))


def test_a_page_that_was_never_written_holds_nothing(
    pages: Pages,
) -> None:
    tree, blocks, good = pages
    whole = read_pages(tree, blocks, good)
    bad = good.copy()
    bad[1] = 0
    assert 0 < read_pages(tree, blocks, bad) < whole
