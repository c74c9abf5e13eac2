"""What every connector's endpoint and reader promise."""

import pickle

import pytest

from tieout.canonical.decode import decode
from tieout.config.urls import parse_url
from tieout.connectors.protocols.endpoint import HashSpec, Scan, ScanColumn
from tieout.connectors.registry import open_endpoint
from tieout.errors import MissingObjectError, ReadError, TieoutError
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.digests import EMPTY
from tieout.model.keys import EVERYTHING, KeyRange, ranges_between
from tieout.model.tables import TableName

ROWS = 1000
NAME = 'odd "name" `with` everything; -- ü%s{}'


@pytest.fixture
def endpoint(database):
    quoted = {"`": "``"} if database.url.startswith("mysql") else {'"': '""'}
    quote = next(iter(quoted))
    table = quote + NAME.replace(quote, quoted[quote]) + quote
    database.execute(f"CREATE TABLE {table} (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(40), n INTEGER)")
    values = ", ".join(f"({i * 7 - 3500}, 'value {i}', {'NULL' if i % 10 == 0 else i})" for i in range(ROWS))
    database.execute(f"INSERT INTO {table} VALUES {values}")
    database.execute("CREATE TABLE bare (a INTEGER, b VARCHAR(10))")
    opened = open_endpoint(parse_url(database.url))
    yield opened
    opened.close()


@pytest.fixture
def scan(endpoint):
    return scan_of(endpoint)


def scan_of(endpoint, where=None):
    (name,) = [name for name in endpoint.tables() if name.name == NAME]
    (table,) = endpoint.describe([name])
    columns = []
    for column in table.columns:
        kind = common_kind(column.type, column.type)
        assert isinstance(kind, Kind)
        columns.append(ScanColumn(column, kind))
    return Scan(table, tuple(columns), (0,), (0,), where)


def rows(scan, batches):
    found = []
    for batch in batches:
        fields = [decode(c.kind, array) for c, array in zip(scan.columns, batch.columns, strict=True)]
        found += [tuple(field.text(row) for field in fields) for row in range(batch.num_rows)]
    return found


EXPECTED = {(str(i * 7 - 3500), f"value {i}", None if i % 10 == 0 else str(i)) for i in range(ROWS)}


def test_the_catalog_tells_columns_key_and_nullability(endpoint, scan):
    table = scan.table
    assert table.column_names == ("id", "v", "n")
    assert table.key == ("id",)
    assert [column.nullable for column in table.columns] == [False, True, True]
    assert table.column("id").order == "numeric"
    (bare,) = [name for name in endpoint.tables() if name.name == "bare"]
    assert endpoint.describe([bare])[0].key == ()


def test_a_table_that_is_not_there_is_named(endpoint):
    with pytest.raises(MissingObjectError, match="nothing_here"):
        endpoint.describe([TableName(endpoint.default_schema(), "nothing_here")])


def test_a_reader_survives_pickling_and_reads_everything(endpoint, scan):
    reader = pickle.loads(pickle.dumps(endpoint.reader()))
    found = rows(scan, reader.read(scan, EVERYTHING))
    assert len(found) == ROWS
    assert set(found) == EXPECTED


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
    low, high = ("0",), ("700",)
    for (key,) in endpoint.reader().bounds(scan, KeyRange(low, high), 10, 99):
        assert 0 < int(key) < 700


def test_rows_are_found_by_key(endpoint, scan):
    reader = endpoint.reader()
    found = rows(scan, reader.lookup(scan, [("-3500",), ("7",), ("8",)]))
    assert {row[0] for row in found} == {"-3500", "7"}
    assert rows(scan, reader.lookup(scan, [])) == []


def test_a_condition_of_the_users_holds_whatever_it_contains(endpoint):
    scan = scan_of(endpoint, where="n = 1 OR n = 2 -- a comment")
    assert {row[2] for row in rows(scan, endpoint.reader().read(scan, KeyRange(("-3500",), None)))} == {"1", "2"}


def test_a_condition_that_is_no_sql_is_an_error_of_one_line(endpoint):
    scan = scan_of(endpoint, where="this is no condition")
    with pytest.raises(TieoutError) as caught:
        list(endpoint.reader().read(scan, EVERYTHING))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ReadError | MissingObjectError)


@pytest.mark.parametrize(("native", "bits"), [(True, 64), (True, 128), (False, 128)])
def test_the_engines_own_digest_adds_up_and_sees_a_change(database, endpoint, scan, native, bits):
    can = endpoint.capabilities.native_hash if native else endpoint.capabilities.sql_hash
    if not can:
        pytest.xfail(f"{endpoint.capabilities.family} has no such hash")
    reader, spec = endpoint.reader(), HashSpec(native, bits, 42)
    whole = reader.digest(scan, EVERYTHING, spec)
    parts = [reader.digest(scan, keys, spec) for keys in ranges_between(reader.bounds(scan, EVERYTHING, 70, 99))]
    assert sum(parts, EMPTY) == whole
    assert whole.count == ROWS
    if native:
        assert reader.digest(scan, EVERYTHING, HashSpec(native, bits, 43)) != whole
    without_one = Scan(scan.table, scan.columns, scan.key, scan.ordered_by, "id <> 0")
    assert reader.digest(without_one, EVERYTHING, spec) != whole


def test_activity_stays_the_same_until_something_is_written(database, endpoint):
    if not endpoint.capabilities.activity:
        pytest.xfail("the endpoint can't tell")
    reader = endpoint.reader()
    before = reader.activity()
    assert before is not None
    list(reader.read(scan_of(endpoint), EVERYTHING))
    database.execute("INSERT INTO bare VALUES (1, 'x')")
    assert reader.activity() != before
