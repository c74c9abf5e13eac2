"""Pages that no server wrote: the index and the block are named, and nothing worse comes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.integration.checking.holding import index_of
from tests.servers.server import Database
from tieout.connectors.postgres.checking.btree import BTree
from tieout.connectors.postgres.checking.garbled import Garbled
from tieout.connectors.postgres.checking.numerics import numerics
from tieout.connectors.postgres.checking.pages import leaves, pages_statement
from tieout.connectors.postgres.checking.spans import Spans
from tieout.connectors.postgres.checking.tuples import decode
from tieout.errors import ReadError


@pytest.fixture
def pages(db: Database) -> tuple[BTree, list[int], np.ndarray[Any, Any]]:
    """An index of every sort of value, and its pages."""
    db.execute("""
        CREATE TABLE t (a int2, b text, n numeric, k name, m mood, z timestamptz);
        INSERT INTO t SELECT nullif(i % 4, 0), repeat(md5(i::text), 1 + i % 40), i / 7.0, 'k' || i, 'ok', now()
        FROM generate_series(1, 400) i;
        INSERT INTO t SELECT 1, 'same', NULL, 'same', 'sad', NULL FROM generate_series(1, 400) i;
        CREATE INDEX i ON t (a, b, n, k, m, z)""")
    tree = index_of(db, "i")
    with db.connect() as connection, connection.cursor(binary=True) as cursor:
        rows = cursor.execute(pages_statement(tree, 0, 1000)).fetchall()
    return tree, [block for block, _ in rows], np.array([list(page) for _, page in rows], dtype=np.uint8)


def read_pages(tree: BTree, blocks: list[int], octets: np.ndarray[Any, Any]) -> int:
    page = pa.array([row.tobytes() for row in octets], pa.binary())
    found = leaves(str(tree.name), pa.RecordBatch.from_arrays([pa.array(blocks), page], names=["block", "page"]))
    return decode(str(tree.name), found.tuples, tree.attributes).num_rows


@pytest.mark.parametrize(
    ("at", "octets", "words"),
    [
        (18, b"\x20\x04", "unknown layout or byte order"),
        (16, b"\x00\x20", "no page of a B-tree"),
        (14, b"\x00\x00", "points outside of the page"),
        (8184, b"\x01", "says that it is a leaf"),
        (12, b"\xff\xff", "points outside of the page"),
        (28, b"\x00\x00\x00\x00", "neither live nor dead"),
        (28, b"\xf8\xff\x20\x00", "lies outside of the page"),
    ],
)
def test_a_page_that_is_garbled_is_named(
    pages: tuple[BTree, list[int], np.ndarray[Any, Any]], at: int, octets: bytes, words: str
) -> None:
    tree, blocks, good = pages
    bad = good.copy()
    bad[1, at : at + len(octets)] = list(octets)
    with pytest.raises(ReadError, match=f"index public.i, block 1: .*{words}"):
        read_pages(tree, blocks, bad)


def test_garbage_is_a_read_error_or_other_values_and_nothing_else(
    pages: tuple[BTree, list[int], np.ndarray[Any, Any]],
) -> None:
    tree, blocks, good = pages
    assert read_pages(tree, blocks, good) > 400
    rng = np.random.default_rng(11)
    told_of = []
    for _ in range(600):
        bad = good.copy()
        page = rng.integers(1, len(bad))
        places = rng.integers(0, bad.shape[1], rng.choice([1, 5, 50, 500]))
        bad[page, places] = rng.integers(0, 256, len(places))
        try:
            read_pages(tree, blocks, bad)
        except ReadError as error:
            told_of.append((error.message, f"index public.i, block {blocks[page]}: "))
    assert 100 < len(told_of) < 600
    assert all(where in message for message, where in told_of)


@pytest.mark.parametrize("stored", ["", "00", "0000", "00c1", "00801027"])
def test_a_number_that_is_garbled(stored: str) -> None:
    octets = np.frombuffer(bytes.fromhex(stored) + bytes(8), dtype=np.uint8)
    with pytest.raises(Garbled, match="a number is garbled"):
        numerics(Spans(octets, np.array([0]), np.array([len(stored) // 2])))


def test_a_page_that_was_never_written_holds_nothing(
    pages: tuple[BTree, list[int], np.ndarray[Any, Any]],
) -> None:
    tree, blocks, good = pages
    whole = read_pages(tree, blocks, good)
    bad = good.copy()
    bad[1] = 0
    assert 0 < read_pages(tree, blocks, bad) < whole
