"""`tieout verify` as people and scripts use it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.e2e.conftest import Ended, Tieout
from tests.servers.sqlite import SqliteDatabase

ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, price DECIMAL(10, 2), ratio DOUBLE, region TEXT)"
EVIL = 't"; DROP TABLE orders; --'


@pytest.fixture
def pair(sqlite_db: Callable[[str], SqliteDatabase]) -> tuple[SqliteDatabase, SqliteDatabase]:
    """Two shops that are equal."""
    sides = sqlite_db("source"), sqlite_db("target")
    for side in sides:
        side.execute(ORDERS)
        rows = [(n, f"name {n} 山", f"{n}.50", n / 7, "eu" if n % 2 else "us") for n in range(1, 201)]
        side.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", rows)
    return sides


@pytest.fixture
def verify(pair: tuple[SqliteDatabase, SqliteDatabase], tieout: Tieout) -> Callable[..., Ended]:
    source, target = pair
    return lambda *words: tieout("verify", "--source", source.url, "--target", target.url, *words)


def test_equal_different_unverified(pair, verify):
    source, target = pair
    assert verify().code == 0
    target.execute("UPDATE orders SET name = 'x' WHERE id = 17")
    different = verify()
    assert different.code == 1
    assert "changed  id=17  name: 'name 17 山' → 'x'" in different.out
    target.execute("UPDATE orders SET name = 'name 17 山' WHERE id = 17")
    for side, of in ((source, "INTERVAL"), (target, "TEXT")):
        side.execute(f"ALTER TABLE orders ADD COLUMN span {of}")
    unverified = verify()
    assert unverified.code == 3
    assert "unverified column span" in unverified.out


def test_a_table_that_is_called_like_one_of_ours_is_not_left_out_silently(pair, verify):
    for side, value in zip(pair, ("x", "y"), strict=True):
        side.execute(f"CREATE TABLE tieout_log (v); INSERT INTO tieout_log VALUES ('{value}')")
    found = json.loads(verify("--output", "json").out)
    assert found["verdict"] == "equal"
    assert any("reserved for Tieout" in note and "tieout_log" in note for note in found["notes"])
    assert "tieout_log" in verify().out
    for side, value in zip(pair, ("x", "y"), strict=True):
        side.execute(f"CREATE TABLE tieout_orders (v); INSERT INTO tieout_orders VALUES ('{value}')")
    assert verify().code == 1


def test_every_format_holds_the_difference_and_nothing_else_is_on_stdout(pair, verify):
    pair[1].execute("DELETE FROM orders WHERE id = 9")
    formats = {name: verify("--output", name) for name in ("text", "json", "ndjson", "csv", "junit", "html")}
    assert {ended.code for ended in formats.values()} == {1}
    assert json.loads(formats["json"].out)["differences"][0]["key"] == {"id": "9"}
    lines = [json.loads(line) for line in formats["ndjson"].out.splitlines()]
    assert [line["kind"] for line in lines] == ["table", "missing", "verification"]
    (row,) = csv.DictReader(io.StringIO(formats["csv"].out))
    assert (row["kind"], row["key"]) == ("missing", '{"id": "9"}')
    assert ElementTree.fromstring(formats["junit"].out).attrib["failures"] == "1"
    assert formats["html"].out.startswith("<!doctype html>")
    assert "missing  id=9" in formats["text"].out
    assert formats["text"].err.startswith("schema\n")


def test_quiet_says_nothing_but_the_result(verify):
    ended = verify("--quiet")
    assert ended.out.startswith("equal: 1 table, 200 rows")
    assert ended.err == ""


def test_which_rows_and_columns(pair, verify):
    _, target = pair
    target.execute("UPDATE orders SET price = price + 0.01, ratio = ratio + 1e-12 WHERE region = 'us'")
    target.execute("UPDATE orders SET name = upper(name) WHERE id = 3")
    assert verify("--where", "region = 'eu'", "--exclude-columns", "name").code == 0
    assert verify("--source-where", "id < 0", "--target-where", "id < 0").code == 0
    assert verify("--columns", "region", "--key", "id").code == 0
    tolerant = ("--tolerance", "price=0.02", "--tolerance", "ratio=1e-9 relative")
    assert verify(*tolerant, "--columns", "price,ratio").code == 0
    assert verify("--columns", "name", "--expr", "name=upper(name)|upper(name)").code == 0
    cut = json.loads(verify("--limit", "2", "-o", "json").out)
    assert (len(cut["differences"]), cut["truncated"]) == (2, True)
    assert cut["tables"][0]["differences"]["changed"] == 101
    assert len(json.loads(verify("--limit", "none", "-o", "json").out)["differences"]) == 101


def test_which_tables(pair, verify):
    source, target = pair
    source.execute("CREATE TABLE old_log (id INTEGER PRIMARY KEY); CREATE TABLE scratch (x)")
    target.execute("CREATE TABLE new_log (id INTEGER PRIMARY KEY)")
    assert verify("--table", "orders").code == 0
    assert verify("--table", "old_log=new_log", "--table", "ord*").code == 0
    assert verify("--exclude", "*_log", "--exclude", "scratch").code == 0
    everything = verify("-o", "json")
    assert everything.code == 1
    reasons = {table["reason"] for table in json.loads(everything.out)["tables"]}
    assert reasons == {None, "the table is only on the source", "the table is only on the target"}


def test_counts_only_never_says_equal(pair, verify):
    counted = verify("--counts-only", "-o", "json")
    assert counted.code == 3
    assert json.loads(counted.out)["tables"][0]["rows"] == {"source": 200, "target": 200}
    pair[1].execute("DELETE FROM orders WHERE id = 1")
    assert verify("--counts-only").code == 1


def test_explain_reads_no_rows_and_keeps_no_job(pair, verify, tieout):
    explained = verify("--explain")
    assert explained.code == 0
    assert "main.orders: strategy pull, alignment ranges" in explained.out
    assert json.loads(verify("--explain", "-o", "json").out)["tables"][0]["key"] == ["id"]
    assert tieout("jobs", "list").out == "none\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--table", "nope"], "neither side has a table nope"),
        (["--table", EVIL], "neither side has a table t"),
        (["--table", "orders", "--columns", "nope"], "has no column nope"),
        (["--table", "orders", "--key", "nope"], "column nope"),
        (["--strategy", "native"], "native can't be used"),
    ],
)
def test_what_neither_side_has(pair, verify, words: list[str], said: str):
    ended = verify(*words, "--quiet")
    assert (ended.code, ended.out) in ((2, ""), (3, ended.out))
    assert said in ended.err + ended.out
    assert len(pair[0].rows("SELECT * FROM orders")) == 200


def test_names_that_would_be_commands(pair, verify):
    source, target = pair
    quoted = '"' + EVIL.replace('"', '""') + '"'
    for side in pair:
        side.execute(f'CREATE TABLE {quoted} (id INTEGER PRIMARY KEY, "v""; --" TEXT)')
        side.execute(f"INSERT INTO {quoted} VALUES (1, 'a'), (2, 'b')")
    target.execute(f'UPDATE {quoted} SET "v""; --" = \'c\' WHERE id = 2')
    ended = verify("--table", EVIL, "-o", "json")
    assert ended.code == 1
    (difference,) = json.loads(ended.out)["differences"]
    assert difference["columns"] == {'v"; --': {"source": "b", "target": "c"}}
    assert len(source.rows("SELECT * FROM orders")) == len(target.rows("SELECT * FROM orders")) == 200


def test_the_statements_make_the_target_equal(pair, verify, tmp_path: Path):
    _, target = pair
    target.execute("DELETE FROM orders WHERE id = 1; UPDATE orders SET name = 'it''s' WHERE id = 2")
    target.execute("INSERT INTO orders VALUES (999, 'rogue', 1, 1, 'eu')")
    ended = verify("--repair-sql", "repair.sql", "--quiet")
    assert ended.code == 1
    assert "3 statements written to repair.sql" in ended.err
    target.execute((tmp_path / "repair.sql").read_text(encoding="utf-8"))
    assert verify().code == 0
