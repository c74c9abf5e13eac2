"""What every reader promises: all rows of a range, each value exactly, on executors."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace

import pytest

from tests.contract.reading import scan_of, texts
from tieout.connectors.protocols.endpoint import HashSpec
from tieout.errors import MissingObjectError, ReadError, TieoutError
from tieout.model.digests import EMPTY
from tieout.model.keys import EVERYTHING, KeyRange, ranges_between

SUITE = "reader"
ROWS = 1000
NAME = 'odd "name" `with` everything; -- ü%s{}'
EXPECTED = {(str(i * 7 - 3500), f"value {i}", None if i % 10 == 0 else str(i)) for i in range(ROWS)}
TEXTS = ("", " ", "a", "A", "a ", "é", "e\u0301", "it''s", "\\x", "%s", "0", "ß", "\U0001f600")


@pytest.fixture(scope="module", autouse=True)
def _tables(engine, database):
    table = engine.quoted(NAME)
    database.execute(f"CREATE TABLE {table} (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40), n INTEGER)")
    values = ", ".join(f"({i * 7 - 3500}, 'value {i}', {'NULL' if i % 10 == 0 else i})" for i in range(ROWS))
    database.execute(f"INSERT INTO {table} VALUES {values}")
    database.execute("CREATE TABLE bare (a INTEGER, b VARCHAR(10))")
    database.execute("INSERT INTO bare VALUES (1, ''), (1, ''), (NULL, NULL), (1, NULL), (NULL, '')")
    database.execute("CREATE TABLE pair (b INTEGER NOT NULL, a INTEGER NOT NULL, v INTEGER, PRIMARY KEY (a, b))")
    pairs = ", ".join(f"({b}, {a}, {a * 100 + b})" for a in range(10) for b in range(10))
    database.execute(f"INSERT INTO pair VALUES {pairs}")


@pytest.fixture
def scan(endpoint):
    return scan_of(endpoint, NAME)


def rows(scan, batches):
    return texts(scan.columns, batches)


def test_it_survives_pickling_and_reads_everything(endpoint, scan):
    reader = pickle.loads(pickle.dumps(endpoint.reader()))
    found = rows(scan, reader.read(scan, EVERYTHING))
    assert len(found) == ROWS
    assert set(found) == EXPECTED


def test_the_cautious_reader_reads_the_same(endpoint, scan):
    cautious = endpoint.reader().cautious()
    assert set(rows(scan, cautious.read(scan, EVERYTHING))) == EXPECTED
    assert type(cautious.cautious()) is type(cautious)


def test_columns_come_in_the_order_of_the_scan(endpoint, scan):
    turned = replace(scan, columns=scan.columns[::-1], key=(2,), ordered_by=(2,))
    assert set(rows(turned, endpoint.reader().read(turned, EVERYTHING))) == {row[::-1] for row in EXPECTED}


def test_null_empty_text_and_equal_rows_stay_apart(endpoint):
    scan = scan_of(endpoint, "bare")
    found = Counter(rows(scan, endpoint.reader().read(scan, EVERYTHING)))
    assert found == {("1", ""): 2, (None, None): 1, ("1", None): 1, (None, ""): 1}


def test_text_arrives_character_by_character(database, endpoint):
    database.execute("CREATE TABLE words (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40))")
    escaped = [text.replace("\\", "\\\\") if database.url.startswith("mysql") else text for text in TEXTS]
    values = ", ".join(f"({n}, '{text}')" for n, text in enumerate(escaped))
    with database.connect() as connection:
        connection.cursor().execute(f"INSERT INTO words VALUES {values}")
    scan = scan_of(endpoint, "words")
    found = dict(rows(scan, endpoint.reader().read(scan, EVERYTHING)))
    assert [found[str(n)] for n in range(len(TEXTS))] == [text.replace("''", "'") for text in TEXTS]


def test_bounds_cut_every_so_many_rows_and_ranges_cover_all_of_them(endpoint, scan):
    reader = endpoint.reader()
    bounds = reader.bounds(scan, EVERYTHING, 300, 99)
    assert bounds == [(str(i * 7 - 3500),) for i in (300, 600, 900)]
    counts = [reader.count(scan, keys) for keys in ranges_between(bounds)]
    assert counts == [300, 300, 300, 100]
    pieces = [row for keys in ranges_between(bounds) for row in rows(scan, reader.read(scan, keys))]
    assert len(pieces) == ROWS
    assert set(pieces) == EXPECTED


def test_no_more_bounds_than_asked_for(endpoint, scan):
    assert len(endpoint.reader().bounds(scan, EVERYTHING, 100, 2)) == 2


def test_bounds_stay_inside_their_range(endpoint, scan):
    found = endpoint.reader().bounds(scan, KeyRange(("0",), ("700",)), 10, 99)
    assert [int(key) for (key,) in found] == [70 * n for n in range(1, 10)]


def test_ranges_of_a_key_of_two_columns_cover_every_row_once(endpoint):
    scan, reader = scan_of(endpoint, "pair"), endpoint.reader()
    assert scan.ordered_by
    bounds = reader.bounds(scan, EVERYTHING, 7, 99)
    assert bounds[:2] == [("0", "7"), ("1", "4")]
    found = [row for keys in ranges_between(bounds) for row in rows(scan, reader.read(scan, keys))]
    assert sorted(int(row[2]) for row in found) == [a * 100 + b for a in range(10) for b in range(10)]


def test_rows_are_found_by_key(endpoint, scan):
    reader = endpoint.reader()
    found = rows(scan, reader.lookup(scan, [("-3500",), ("7",), ("8",)]))
    assert {row[0] for row in found} == {"-3500", "7"}
    assert rows(scan, reader.lookup(scan, [])) == []


def test_rows_are_found_by_a_key_of_two_columns(endpoint):
    scan = scan_of(endpoint, "pair")
    found = rows(scan, endpoint.reader().lookup(scan, [("3", "4"), ("4", "3"), ("77", "1")]))
    assert {row[2] for row in found} == {"304", "403"}


def test_rows_are_found_by_a_text_of_any_content(database, endpoint):
    database.execute("CREATE TABLE named (k VARCHAR(40) NOT NULL PRIMARY KEY, n INTEGER)")
    database.execute("INSERT INTO named VALUES ('it''s', 1), ('plain', 2)")
    scan = scan_of(endpoint, "named")
    asked = ("it's", "' OR 1 = 1 --", "pla\0in", "a\0' OR 1 = 1 --", "é\\")
    assert rows(scan, endpoint.reader().lookup(scan, [(key,) for key in asked])) == [("it's", "1")]


def test_a_condition_of_the_users_holds_whatever_it_contains(endpoint):
    scan = scan_of(endpoint, NAME, where="n = 1 OR n = 2 -- a comment")
    reader, above = endpoint.reader(), KeyRange(("-3500",), None)
    assert {row[2] for row in rows(scan, reader.read(scan, above))} == {"1", "2"}
    assert reader.count(scan, above) == 2


def test_an_expression_stands_in_for_its_column(endpoint, scan):
    doubled = replace(scan.columns[2], expression="n + n -- twice\n")
    changed = replace(scan, columns=(*scan.columns[:2], doubled), where="n = 21")
    assert [row[2] for row in rows(changed, endpoint.reader().read(changed, EVERYTHING))] == ["42"]


@pytest.mark.parametrize("where", ["this is no condition", "no_such_column = 1"])
def test_a_condition_that_is_wrong_is_an_error_of_one_line(endpoint, where):
    scan = scan_of(endpoint, NAME, where=where)
    with pytest.raises(TieoutError) as caught:
        list(endpoint.reader().read(scan, EVERYTHING))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ReadError | MissingObjectError)


def test_a_table_that_was_dropped_is_an_error_of_one_line(database, endpoint):
    database.execute("CREATE TABLE dropped (id INTEGER NOT NULL PRIMARY KEY)")
    scan = scan_of(endpoint, "dropped")
    database.execute("DROP TABLE dropped")
    with pytest.raises(MissingObjectError) as caught:
        list(endpoint.reader().read(scan, EVERYTHING))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bits", [64, 128])
def test_its_native_digest_adds_up_and_sees_a_change(endpoint, scan, bits):
    assert endpoint.capabilities.native_hash
    adds_up(endpoint.reader(), scan, HashSpec(True, bits, 42))
    seeds = {endpoint.reader().digest(scan, EVERYTHING, HashSpec(True, bits, seed)) for seed in (42, 43)}
    assert len(seeds) == 2


def test_its_digest_in_sql_adds_up_and_sees_a_change(endpoint, scan):
    assert endpoint.capabilities.sql_hash
    adds_up(endpoint.reader(), scan, HashSpec(False, 128, 42))


def adds_up(reader, scan, spec):
    whole = reader.digest(scan, EVERYTHING, spec)
    parts = [reader.digest(scan, keys, spec) for keys in ranges_between(reader.bounds(scan, EVERYTHING, 70, 99))]
    assert sum(parts, EMPTY) == whole
    assert whole.count == ROWS
    assert reader.digest(replace(scan, where="id <> 0"), EVERYTHING, spec) != whole


def test_activity_stays_the_same_until_something_is_written(database, endpoint, scan):
    reader = endpoint.reader()
    before = reader.activity()
    assert (before is not None) == endpoint.capabilities.activity
    list(reader.read(scan, EVERYTHING))
    assert reader.activity() == before
    database.execute("INSERT INTO bare VALUES (NULL, 'new')")
    assert reader.activity() != before
    database.execute("DELETE FROM bare WHERE b = 'new'")
