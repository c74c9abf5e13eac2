"""DuckDB files beside PostgreSQL, Parquet and each other: verified, repaired, verified again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tieout
from tests.contract.reading import texts
from tests.integration.repairing import Pair, found
from tests.variants import later
from tieout import VerificationResult
from tieout.config.urls import parse_url
from tieout.connectors.duckdb import session
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.registry import open_endpoint, open_writer
from tieout.errors import AccessError, UnreachableError, UnsupportedError
from tieout.model.canonical_kinds import Form, Kind, common_kind
from tieout.model.keys import EVERYTHING
from tieout.model.tables import TableName
from tieout.model.types import TypeName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.duckdb import DuckDBDatabase
    from tests.servers.server import Database

Make = Callable[[str], "DuckDBDatabase"]

VALUES: dict[str, dict[str, str | None]] = {
    "TINYINT": {"-128": "-128"},
    "UBIGINT": {"18446744073709551615": "18446744073709551615"},
    "HUGEINT": {
        "-170141183460469231731687303715884105728": "-170141183460469231731687303715884105728",
        "170141183460469231731687303715884105727": "170141183460469231731687303715884105727",
    },
    "UHUGEINT": {"340282366920938463463374607431768211455": "340282366920938463463374607431768211455"},
    "BIGNUM": {"1234567890" * 6: "1234567890" * 6},
    "DECIMAL(38,10)": {"1.5000000000": "1.5", "-9999999999999999999999999999.9999999999": None},
    "FLOAT": {"0.1": "0.1", "nan": "NaN", "-inf": "-Infinity", "-0.0": "0.0"},
    "DOUBLE": {"0.1": "0.1", "1e-320": "1e-320", "NaN": "NaN", "-0.0": "0.0", "inf": "Infinity"},
    "BOOLEAN": {"true": "true"},
    "VARCHAR": {"": "", "it's": "it's", "é": "é", "a\tb\n": "a\tb\n", "NULL": "NULL"},
    "BLOB": {"\\x00\\xFF": "0x00ff", "": "0x"},
    "BIT": {"0101": "0101", "101": "101"},
    "UUID": {"6F9619FF-8B86-D011-B42D-00C04FC964FF": "6f9619ff-8b86-d011-b42d-00c04fc964ff"},
    "DATE": {"infinity": "infinity", "-infinity": "-infinity", "0044-03-15 (BC)": "-0043-03-15", "2024-02-29": None},
    "TIME": {"24:00:00": "24:00:00", "12:30:00.5": "12:30:00.5"},
    "TIME_NS": {"12:30:00.123456789": "12:30:00.123456789", "12:30:00": "12:30:00"},
    "TIMETZ": {"12:00:00+02": "12:00:00+02", "12:00:00.5-05:30": "12:00:00.5-05:30"},
    "TIMESTAMP_S": {"2024-02-29 12:30:00": "2024-02-29 12:30:00", "infinity": "infinity"},
    "TIMESTAMP_MS": {"2024-02-29 12:30:00.125": "2024-02-29 12:30:00.125"},
    "TIMESTAMP": {"2024-02-29 12:30:00.000001": None, "-infinity": "-infinity", "0001-01-01 00:00:00": None},
    "TIMESTAMP_NS": {
        "2024-02-29 12:30:00.123456789": "2024-02-29 12:30:00.123456789",
        "2024-02-29 12:30:00.5": "2024-02-29 12:30:00.5",
        "infinity": "infinity",
    },
    "TIMESTAMPTZ": {"2024-02-29 12:30:00+05:30": "2024-02-29 07:00:00", "infinity": "infinity"},
    "INTERVAL": {
        "1 year 2 months 3 days 4 hours 5 minutes 6.7 seconds": "P1Y2M3DT4H5M6.7S",
        "-14 months": "P-1Y-2M",
        "2562047788 hours": "PT2562047788H",
        "-0.000001 seconds": "PT-0.000001S",
        "0 days": "PT0S",
        "1 month -30 days": "P1M-30D",
    },
    "JSON": {'{"b": 1.0, "a": null}': '{"a":null,"b":1}'},
    "ENUM('sad', 'it''s')": {"it's": "it's"},
    "INTEGER[]": {"[1, NULL]": "[1,null]", "[]": "[]"},
    "INTEGER[2]": {"[1, 2]": "[1,2]"},
    'STRUCT(a INTEGER, "b c" VARCHAR[])': {"{'a': 1, 'b c': ['NULL', NULL]}": '{"a":1,"b c":["NULL",null]}'},
    "MAP(VARCHAR, DECIMAL(4,2))": {"{x=1.50, a=2}": '{"a":2,"x":1.5}'},
    "FLOAT[]": {"[0.1, NaN]": "[0.1, nan]"},
    "STRUCT(f DOUBLE, t VARCHAR)": {"{'f': 0.1, 't': 'x, y'}": None},
}
"""By type: values as DuckDB reads them, and their canonical text (None: the same)."""


def table_of(url: str, schema: str = "main") -> Any:
    with closing(open_endpoint(parse_url(url))) as endpoint:
        return endpoint.describe([TableName(schema, "t")])[0]


def rows_of(url: str, scan: Scan) -> list[tuple[str | None, ...]]:
    with closing(open_endpoint(parse_url(url))) as endpoint:
        return texts(scan.columns, endpoint.reader().read(scan, EVERYTHING))


def test_every_type_is_read_and_written_back_exactly(duckdb_db: Make) -> None:
    """Read in canonical form; and in the form of repairs, deleted and put back, it is the same."""
    database = duckdb_db("types")
    columns = ", ".join(f"c{place} {native}" for place, native in enumerate(VALUES))
    longest = max(map(len, VALUES.values())) + 1  # NULL for every type
    with database.connect() as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {columns})")
        marks = ", ".join(f"CAST(? AS {native})" for native in VALUES)
        for row in range(longest):
            given = [list(values)[row] if row < len(values) else None for values in VALUES.values()]
            connection.execute(f"INSERT INTO t VALUES ({row}, {marks})", given)
        before = connection.execute("SELECT COLUMNS(*)::VARCHAR FROM t ORDER BY id").fetchall()

    table = table_of(database.url)
    kinds = [common_kind(column.type, column.type) for column in table.columns]
    assert all(isinstance(kind, Kind) for kind in kinds), kinds
    scan = Scan(table, tuple(map(ScanColumn, table.columns, kinds)), (0,), (0,))
    shown = sorted(rows_of(database.url, scan), key=lambda row: int(row[0] or 0))
    for place, (native, values) in enumerate(VALUES.items()):
        expected = [given if text is None else text for given, text in values.items()]
        assert [row[place + 1] for row in shown[: len(values)]] == expected, native
        assert all(row[place + 1] is None for row in shown[len(values) :]), native

    with closing(open_writer(parse_url(database.url))) as writer:
        exact = Scan(table, tuple(ScanColumn(column, writer.exact(column)) for column in table.columns), (0,), (0,))
        read = texts(exact.columns, writer.rows(exact, [(str(row),) for row in range(longest)], lock=True))
        writer.begin()
        for row in read:
            named = dict(zip(table.column_names, row, strict=True))
            assert writer.execute(writer.statements.delete(table, {"id": row[0]})) == 1
            assert writer.execute(writer.statements.insert(table, named)) == 1
        for row, other in zip(shown, range(longest, 2 * longest), strict=True):
            # Canonical text, as other engines give it. Nested values that have no JSON come from DuckDB alone.
            named = dict(zip(table.column_names, row, strict=True))
            assert writer.execute(writer.statements.insert(table, {**named, "id": str(other)})) == 1
        writer.commit()
    assert database.rows(f"SELECT COLUMNS(*)::VARCHAR FROM t WHERE id < {longest} ORDER BY id") == before
    again = sorted(rows_of(database.url, scan), key=lambda row: int(row[0] or 0))
    assert [row[1:] for row in again[longest:]] == [row[1:] for row in shown]


@pytest.mark.parametrize("native", ["UNION(x INTEGER, y VARCHAR)", "VARIANT", "JSON[]", "BLOB[]"])
def test_what_has_no_exact_text_is_unverified_with_a_reason(duckdb_db: Make, native: str) -> None:
    database = duckdb_db("odd")
    database.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {native})")
    column = table_of(database.url).column("v")
    assert column.type.name is TypeName.UNKNOWN
    assert native.split("(", maxsplit=1)[0] in str(common_kind(column.type, column.type))


def test_a_collation_neither_orders_nor_finds(duckdb_db: Make) -> None:
    """Ranges are not cut in it, and a repair of one row leaves the other that the collation takes for the same."""
    database = duckdb_db("collated")
    database.execute("CREATE TABLE t (k VARCHAR COLLATE NOCASE, n INTEGER)")
    database.execute("INSERT INTO t VALUES ('a', 1), ('A', 2)")
    table = table_of(database.url)
    assert table.column("k").order is None
    with closing(open_writer(parse_url(database.url))) as writer:
        writer.begin()
        assert writer.execute(writer.statements.delete(table, {"k": "a"})) == 1
        writer.commit()
    assert database.rows("SELECT n FROM t") == [(2,)]


def test_a_file_named_like_its_schema_can_be_read(duckdb_db: Make) -> None:
    database = duckdb_db("shop")
    database.execute("CREATE SCHEMA shop.shop; CREATE TABLE shop.shop.t AS SELECT 7 AS id")
    table = table_of(database.url, "shop")
    column = ScanColumn(table.column("id"), Kind(Form.INTEGER))
    assert rows_of(database.url, Scan(table, (column,))) == [("7",)]


def test_a_process_that_writes_is_named(duckdb_db: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session.connect.__kwdefaults__, "wait_seconds", 0.2)
    database = duckdb_db("held")
    program = f"import duckdb; c = duckdb.connect({str(database.path)!r}); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(UnreachableError) as caught:
            open_endpoint(parse_url(database.url))
        holder.communicate("")
    assert f"another process (PID {holder.pid}) has the file open" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_driver_the_extra_is_named(duckdb_db: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    url = parse_url(duckdb_db("any").url)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for opening in (open_endpoint, open_writer):
        with pytest.raises(UnsupportedError, match=r"pip install 'tieout\[duckdb\]'"):
            opening(url)


COLUMNS = (
    "id INTEGER PRIMARY KEY, v VARCHAR, n DECIMAL(20,4), d DATE, ts TIMESTAMP, tz TIMESTAMPTZ, f {double}, b {blob}"
)
ROWS = """
SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE 'value ' || i END, i * 1.25, DATE '2024-01-01' + CAST(i % 300 AS INTEGER),
TIMESTAMP '2024-01-01 00:00:00' + i * INTERVAL '1 second', {instant}, i / 8.0, {bytes} FROM {series}"""
SPOIL = """
DELETE FROM t WHERE id = 5; UPDATE t SET v = 'it''s; --', f = -1 WHERE id = 6; UPDATE t SET d = 'infinity' WHERE id = 8;
INSERT INTO t (id, v) VALUES (5000, '')"""
SPOILT = {("missing", "5"), ("changed", "6"), ("changed", "8"), ("extra", "5000")}


def fill_duckdb(database: DuckDBDatabase) -> None:
    database.execute(f"CREATE TABLE t ({COLUMNS.format(double='DOUBLE', blob='BLOB')})")
    parts = {
        "instant": "TIMESTAMPTZ '2024-01-01 00:00:00+00'",
        "bytes": "encode('b' || i)",
        "series": "range(1, 3001) r(i)",
    }
    database.execute(f"INSERT INTO t {ROWS.format(**parts)}")


def fill_postgres(database: Database) -> None:
    database.execute(f"CREATE TABLE t ({COLUMNS.format(double='DOUBLE PRECISION', blob='BYTEA')})")
    parts = {
        "instant": "TIMESTAMPTZ '2024-01-01 00:00:00+00'",
        "bytes": "convert_to('b' || i, 'UTF8')",
        "series": "generate_series(1, 3000) r(i)",
    }
    database.execute(f"INSERT INTO t {ROWS.format(**parts)}")


def verdict(result: VerificationResult) -> tuple[str, tuple[Any, ...]]:
    (table,) = result.tables
    return str(table.verdict), table.unverified_columns


def kinds(result: VerificationResult) -> set[tuple[str, str | None]]:
    return {(str(d.kind), next(iter(d.key.values()))) for d in result.differences}


@pytest.mark.parametrize("ends", ["duckdb-postgres", "postgres-duckdb", later("duckdb-duckdb")])
def test_a_pair_is_verified_and_repaired(
    request: pytest.FixtureRequest, spark: SparkSession, duckdb_db: Make, tmp_path: Path, ends: str
) -> None:
    sides: list[Any] = []
    for place, end in enumerate(ends.split("-")):
        database = duckdb_db(f"side{place}") if end == "duckdb" else request.getfixturevalue("pg_db")
        (fill_duckdb if end == "duckdb" else fill_postgres)(database)
        sides.append(database)
    pair = Pair.of(sides[0], sides[1], tmp_path, spark)
    name = "main.t" if ends.startswith("duckdb") else "public.t"
    assert verdict(pair.verify(name)) == ("equal", ())

    pair.target.execute(SPOIL)
    spoilt = pair.verify(name)
    assert verdict(spoilt) == ("different", ())
    assert kinds(spoilt) == SPOILT
    summary = pair.plan()
    assert summary.changes == 4, summary
    result = pair.apply()
    assert verdict(pair.verify(name)) == ("equal", ()), result
    pair.undo()
    assert found(pair.verify(name)) == found(spoilt)


def test_a_file_of_statements_repairs_it_too(duckdb_db: Make, tmp_path: Path) -> None:
    pair = Pair.of(duckdb_db("source"), duckdb_db("target"), tmp_path)
    for side in (pair.source, pair.target):
        fill_duckdb(side)
    pair.target.execute(SPOIL)
    assert len(pair.compare("t")) == 4
    pair.plan()
    pair.target.execute(pair.statements())
    assert pair.compare("t") == set()


def test_a_file_of_statements_deletes_rows_and_those_that_refer_to_them(duckdb_db: Make, tmp_path: Path) -> None:
    """DuckDB refuses both deletes in one transaction."""
    pair = Pair.of(duckdb_db("source"), duckdb_db("target"), tmp_path)
    for side in (pair.source, pair.target):
        side.execute("CREATE TABLE p (id INTEGER PRIMARY KEY)")
        side.execute("CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id))")
    pair.target.execute("INSERT INTO p VALUES (1), (2)")
    pair.target.execute("INSERT INTO c VALUES (1, 1)")
    pair.source.execute("INSERT INTO p VALUES (2)")
    assert len(pair.compare("p", "c")) == 2
    pair.plan()
    pair.target.execute(pair.statements())
    assert pair.compare("p", "c") == set()


def test_rows_that_exchanged_the_values_of_a_unique_index_are_repaired(duckdb_db: Make, tmp_path: Path) -> None:
    pair = Pair.of(duckdb_db("source"), duckdb_db("target"), tmp_path)
    for side, (one, two) in ((pair.source, "ab"), (pair.target, "ba")):
        side.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, "a b" VARCHAR, d VARCHAR)')
        side.execute('CREATE UNIQUE INDEX named ON t ("a b"); CREATE UNIQUE INDEX computed ON t (lower(d))')
        side.execute(f"INSERT INTO t VALUES (1, '{one}', 'x'), (2, '{two}', 'y')")
    indexes = table_of(pair.target.url).indexes
    assert [index.columns for index in indexes if index.name == "named"] == [("a b",)]
    assert "computed" not in {index.name for index in indexes}
    assert len(pair.compare("t")) == 2
    pair.plan()
    pair.apply()
    assert pair.compare("t") == set()


def test_an_encrypted_file_is_called_one(tmp_path: Path) -> None:
    import duckdb

    with closing(duckdb.connect()) as connection:
        connection.execute("SET force_mbedtls_unsafe = 'true'")
        connection.execute(
            f"ATTACH '{tmp_path}/secret.duckdb' AS secret (ENCRYPTION_KEY 'k'); CREATE TABLE secret.t (i INT)"
        )
    with pytest.raises(AccessError, match="decrypt a copy"):
        open_endpoint(parse_url(f"duckdb:///{tmp_path}/secret.duckdb"))


def test_rows_without_a_key_are_counted(spark: SparkSession, duckdb_db: Make, tmp_path: Path) -> None:
    pair = Pair.of(duckdb_db("source"), duckdb_db("target"), tmp_path, spark)
    pair.both("CREATE TABLE bare (a INTEGER, b VARCHAR); INSERT INTO bare SELECT i % 3, '' FROM range(100) r(i)")
    pair.both(
        "CREATE TABLE named (k VARCHAR PRIMARY KEY, f DOUBLE); INSERT INTO named VALUES ('é', 'nan'), ('a''', -0.0)"
    )
    assert {str(table.verdict) for table in pair.verify().tables} == {"equal"}
    pair.target.execute("INSERT INTO bare VALUES (1, ''); DELETE FROM named WHERE k = 'a'''")
    differences = {(d.table, str(d.kind), d.copies) for d in pair.verify().differences}
    assert differences == {("main.bare", "extra", 1), ("main.named", "missing", 1)}


def test_parquet_beside_it(spark: SparkSession, duckdb_db: Make, tmp_path: Path) -> None:
    """Nested columns, too: Spark and DuckDB write the same JSON."""
    database, folder = duckdb_db("lake"), tmp_path / "lake" / "t"
    folder.mkdir(parents=True)
    fill_duckdb(database)
    database.execute(
        "ALTER TABLE t ADD COLUMN l INTEGER[]; ALTER TABLE t ADD COLUMN s STRUCT(x DECIMAL(4,2), y VARCHAR);"
        "UPDATE t SET l = [id, NULL], s = {'x': id % 50 + 0.5, 'y': v}"
    )
    database.execute(f"COPY t TO '{folder}/part.parquet' (FORMAT parquet)")

    def verify() -> VerificationResult:
        meta = f"sqlite:///{tmp_path}/meta.db"
        return tieout.verify(f"lake://{tmp_path}/lake", database.url, ["t"], spark=spark, meta=meta)

    assert verdict(verify()) == ("equal", ())
    database.execute("UPDATE t SET s = {'x': 1.5, 'y': 'other'} WHERE id = 7; DELETE FROM t WHERE id = 9")
    assert kinds(verify()) == {("changed", "7"), ("missing", "9")}
