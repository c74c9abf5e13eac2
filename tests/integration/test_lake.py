"""Tables that only Spark can read, beside databases and beside each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tieout
from tests.integration.frames.stores import Store, columns_of, found_in, write_parquet
from tests.integration.frames.table import FAULTS, KEYS, MARIADB, POSTGRES, SQLITE, Crowd, wide_rows
from tests.variants import later
from tieout import TableRequest, TieoutError, VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.sqlite import SqliteDatabase

ALONE = ("values exchanged between two keys", "the same change made to two rows", "text moved to the neighbour")
"""Faults that get a table of their own, too: none may hide behind another."""


@pytest.fixture
def verify(spark: SparkSession, tmp_path: Path) -> Callable[..., VerificationResult]:
    def run(source: str | Path, target: str | Path, *tables: str | TableRequest, **options: Any) -> VerificationResult:
        urls = [f"lake://{end}" if isinstance(end, Path) else end for end in (source, target)]
        return tieout.verify(*urls, tables, spark=spark, meta=f"sqlite:///{tmp_path}/meta.db", **options)

    return run


@pytest.fixture(params=[later(SQLITE), POSTGRES, later(MARIADB)])
def store(request: pytest.FixtureRequest) -> Store:
    engine = request.param
    fixture = {SQLITE: "sqlite_db", POSTGRES: "pg_db", MARIADB: "mysql_db"}[engine]
    database = request.getfixturevalue(fixture)
    return Store(engine, database("lake") if engine == SQLITE else database)


def test_each_fault_is_found_and_named(verify: Callable[..., VerificationResult], store: Store, tmp_path: Path) -> None:
    columns = columns_of(store.engine)
    names = {column.name for column in columns}
    crowd = Crowd(tuple(fault for fault in FAULTS if fault.columns <= names))
    sides = {fault.name.replace(" ", "_"): fault.sides() for fault in crowd.faults if fault.name in ALONE}
    sides |= {"crowd": crowd.sides(), "same": Crowd(crowd.faults[-2:]).sides()}
    for name, (source, _) in sides.items():
        write_parquet(tmp_path / "lake" / name, source, columns)
    store.write({name: target for name, (_, target) in sides.items()})

    result = verify(tmp_path / "lake", store.url)

    verdicts = {table.table.split(".")[-1]: str(table.verdict) for table in result.tables}
    assert verdicts == {name: "equal" if name == "same" else "different" for name in sides}
    assert {str(table.strategy) for table in result.tables} == {"pull"}
    for fault in crowd.faults:
        found = crowd.of(fault, found_in(result, "crowd"))
        assert _as_shown(found, store.engine) == _as_shown(crowd.found(fault), store.engine), fault.name
        if fault.name in ALONE:
            assert found_in(result, fault.name.replace(" ", "_")) == fault.found
    rows = {table.table.split(".")[-1]: table.rows for table in result.tables}
    assert rows["crowd"].source == len(sides["crowd"][0])
    assert rows["crowd"].target == len(sides["crowd"][1])


def _as_shown(found: frozenset[Any], engine: str) -> frozenset[Any]:
    """A FLOAT is shown as the DOUBLE that it is where the other side has only those."""
    if engine != SQLITE:
        return found
    return frozenset(
        (kind, key, frozenset(name for name, _, _ in c))
        if any(name == "single" for name, _, _ in c)
        else (kind, key, c)
        for kind, key, c in found
    )


def test_two_lakes_are_compared_by_spark_itself(verify: Callable[..., VerificationResult], tmp_path: Path) -> None:
    crowd = Crowd(FAULTS)
    source, target = crowd.sides()
    write_parquet(tmp_path / "a" / "wide", source)
    write_parquet(tmp_path / "b" / "wide", target)
    result = verify(tmp_path / "a", tmp_path / "b", TableRequest("wide", key=("id",)))
    (table,) = result.tables
    assert (table.verdict, table.strategy) == ("different", "native")
    assert table.differences.total == sum(len(fault.found) for fault in FAULTS)
    pulled = verify(tmp_path / "a", tmp_path / "b", TableRequest("wide", key=("id",)), strategy=tieout.Strategy.PULL)
    assert found_in(pulled) == found_in(result)
    assert verify(tmp_path / "a", tmp_path / "a").verdict == "equal"


def test_a_table_without_a_key(
    verify: Callable[..., VerificationResult], sqlite_db: Callable[[str], SqliteDatabase], tmp_path: Path
) -> None:
    """A pair of equal rows became another pair of equal rows."""
    (tmp_path / "lake").mkdir()
    pq.write_table(pa.table({"a": ["x", "x", "z"], "b": [1, 1, None]}), tmp_path / "lake" / "twins.parquet")
    database = sqlite_db("target")
    database.execute("CREATE TABLE twins (a TEXT, b INTEGER)")
    database.executemany("INSERT INTO twins VALUES (?, ?)", [("y", 2), ("y", 2), ("z", None)])
    result = verify(tmp_path / "lake", database.url)
    assert {(d.kind.value, d.key["a"], d.copies) for d in result.differences} == {
        ("missing", "x", 2),
        ("extra", "y", 2),
    }


def test_conditions_columns_expressions_and_counts(
    verify: Callable[..., VerificationResult], sqlite_db: Callable[[str], SqliteDatabase], tmp_path: Path
) -> None:
    write_parquet(tmp_path / "lake" / "t", list(wide_rows().values()))
    database = sqlite_db("target")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, truth BOOLEAN)")
    values = [(key, None if row["n"] is None else row["n"] + 1, row["truth"]) for key, row in wide_rows().items()]
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", values)
    columns = ("id", "n", "truth")
    shifted = TableRequest("t", columns=columns, where="id >= 0", expressions={"n": ("CAST(n AS BIGINT) + 1", "n")})
    result = verify(tmp_path / "lake", database.url, shifted)
    assert (result.verdict, result.tables[0].rows.source) == ("equal", len([key for key in KEYS if key >= 0]))
    plain = verify(tmp_path / "lake", database.url, TableRequest("t", columns=columns))
    assert plain.tables[0].differences.changed == len([row for row in wide_rows().values() if row["n"] is not None])
    counted = verify(tmp_path / "lake", database.url, TableRequest("t", columns=columns), counts_only=True)
    assert (counted.verdict, counted.tables[0].rows.source) == ("unverified", len(KEYS))


def test_a_condition_that_spark_can_not_read(
    verify: Callable[..., VerificationResult],
    sqlite_db: Callable[[str], SqliteDatabase],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    write_parquet(tmp_path / "lake" / "t", list(wide_rows().values()), columns_of(SQLITE))
    store = Store(SQLITE, sqlite_db("target"))
    store.write({"t": list(wide_rows().values())})
    result = verify(tmp_path / "lake", store.url, TableRequest("t", source_where="no_such = 1"))
    assert (result.verdict, result.exit_code) == ("unverified", 3)
    assert "no_such" in (result.tables[0].reason or "")
    assert not any("Traceback" in text or "\tat " in text for text in capfd.readouterr())


def test_tables_and_views_of_the_session(
    verify: Callable[..., VerificationResult], spark: SparkSession, tmp_path: Path
) -> None:
    write_parquet(tmp_path / "lake" / "seen", list(wide_rows().values()))
    spark.read.parquet(str(tmp_path / "lake" / "seen")).createOrReplaceTempView("seen")
    try:
        result = verify("spark:///default", tmp_path / "lake", TableRequest("seen", key=("id",)))
    finally:
        spark.catalog.dropTempView("seen")
    assert result.verdict == "equal"


@pytest.mark.parametrize(
    ("files", "tables"),
    [
        ({"orders.parquet": "x", "items.snappy.parquet": "x"}, {"orders", "items"}),
        ({"orders/part-00000.parquet": "x", "items/part-0.parquet": "x", "_SUCCESS": ""}, {"orders", "items"}),
        ({"a.parquet": "x", "_SUCCESS": ""}, {"lake"}),
        ({"orders/part-0.parquet": "x", "metadata/part-0.parquet": "x"}, {"orders", "metadata"}),
        ({"orders/part-00000.parquet": "x", "items/day=1/0.parquet": "x"}, {"orders", "items"}),
        ({"part-00000.parquet": "x", "part-00001.parquet": "x"}, {"lake"}),
        ({"day=1/a.parquet": "x", "day=2/a.parquet": "x"}, {"lake"}),
        ({"orders/_delta_log/0.json": "", "_delta_log/0.json": ""}, {"lake"}),
        ({".hidden.parquet": "x", "orders.parquet/part-0.parquet": "x"}, {"orders"}),
    ],
)
def test_what_is_a_table_of_a_path(
    spark: SparkSession, tmp_path: Path, files: dict[str, str], tables: set[str]
) -> None:
    from tieout.config.urls import parse_url
    from tieout.spark.frames.lake import open_lake

    for name, content in files.items():
        path = tmp_path / "lake" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert {name.name for name in open_lake(parse_url(f"lake://{tmp_path}/lake"), spark).tables()} == tables


def test_a_damaged_file_leaves_its_table_unverified(
    verify: Callable[..., VerificationResult],
    sqlite_db: Callable[[str], SqliteDatabase],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    rows = [row for key, row in wide_rows().items() if key > 0]
    columns = columns_of(SQLITE)
    for name in ("fine", "torn", "shot", "empty"):
        write_parquet(tmp_path / "lake" / name, rows, columns)
    for part in (tmp_path / "lake" / "empty").iterdir():
        part.unlink()
    (tmp_path / "lake" / "torn" / "part-00001.parquet").write_bytes(b"PAR1 this was a file once")
    shot = tmp_path / "lake" / "shot" / "part-00000.parquet"
    whole = shot.read_bytes()
    shot.write_bytes(b"PAR1" + b"\xff" * 200 + whole[204:])  # the footer is whole, the first pages are not
    store = Store(SQLITE, sqlite_db("target"))
    store.write(dict.fromkeys(("fine", "torn", "shot", "empty"), rows))

    result = verify(tmp_path / "lake", store.url)

    by_name = {table.table.split(".")[-1]: table for table in result.tables}
    assert {name: str(table.verdict) for name, table in by_name.items()} == {
        "fine": "equal",
        "torn": "unverified",
        "shot": "unverified",
        "empty": "unverified",
    }
    for table, file in (("torn", "torn/part-00001.parquet"), ("shot", "shot/part-00000.parquet")):
        reason = by_name[table].reason or ""
        assert "can't read file:" in reason
        assert file in reason
    assert "no data file" in (by_name["empty"].reason or "")
    assert result.exit_code == 3
    told = [table.reason or "" for table in result.tables] + list(capfd.readouterr())
    assert not any("Traceback" in text or "\tat " in text or "org.apache" in text for text in told)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("lake:///nowhere/at/all", "there is no such path"),
        ("spark:///nowhere", "has no schema nowhere"),
        ("lake://{path}?format=delta", "can't read the format"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(
    verify: Callable[..., VerificationResult],
    sqlite_db: Callable[[str], SqliteDatabase],
    tmp_path: Path,
    url: str,
    words: str,
) -> None:
    database = sqlite_db("target")
    database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    (tmp_path / "lake" / "orders").mkdir(parents=True)
    with pytest.raises(TieoutError, match=words) as caught:
        verify(url.format(path=tmp_path / "lake"), database.url)
    assert "\n" not in str(caught.value)
