"""What the README shows is done as it stands there: its task is looked at, run and verified, on real servers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.e2e.conftest import Ended, Tieout
from tests.servers.server import Database

README = Path(__file__).parents[2] / "README.md"
_TASK = re.compile(r"```yaml\n(?P<yaml># tieout\.yaml\n.*?)```\n\n```console\n(?P<commands>.*?)```", re.DOTALL)


def shown() -> tuple[str, list[list[str]]]:
    """The README's tieout.yaml, and the words of the commands below it."""
    match = _TASK.search(README.read_text(encoding="utf-8"))
    assert match is not None, "the README shows no tieout.yaml with its commands"
    lines = [line.partition("#")[0].split() for line in match["commands"].splitlines()]
    assert all(line[:2] == ["$", "tieout"] for line in lines)
    return match["yaml"], [line[2:] for line in lines]


def put(text: str, address: str, url: str) -> str:
    """The file with a server of ours where the README has one of its own."""
    assert text.count(address) == 1, f"the README has no {address} any more"
    return text.replace(address, url)


@pytest.fixture
def words(mysql_db: Database, pg_db: Database, tmp_path: Path) -> list[list[str]]:
    """The README's commands, its file in the working directory, and a source with rows in it."""
    text, commands = shown()
    text = put(text, "mysql://app:secret@db1/shop", mysql_db.url)
    text = put(text, "postgresql://app:secret@db2/shop", pg_db.url)
    (tmp_path / "tieout.yaml").write_text(text, encoding="utf-8")
    mysql_db.execute("CREATE TABLE customers (id BIGINT PRIMARY KEY, name VARCHAR(40) NOT NULL)")
    mysql_db.execute("CREATE TABLE visits (seen DATE, page VARCHAR(20))")  # "in tables without a key too"
    mysql_db.executemany("INSERT INTO customers VALUES (%s, %s)", [(n, f"Customer {n}") for n in range(200)])
    mysql_db.executemany("INSERT INTO visits VALUES (%s, %s)", [("2026-03-04", "home")] * 3)
    return commands


def test_the_task_of_the_readme(mysql_db: Database, pg_db: Database, tieout: Tieout, words: list[list[str]]) -> None:
    assert [line[0] for line in words] == ["preflight", "run", "status", "verify"]
    preflight, run, status, verify = words

    ready = tieout(*preflight, "--output", "json")
    assert ready.code == 0, ready.out + ready.err
    # Its comment promises a look at the move: at the log, and at what the pair can promise.
    move = json.loads(ready.out)["move"]
    assert move is not None, "it did not look at the move"
    assert move["delivery"] == "exactly-once"

    def caught_up() -> Ended:
        return tieout(*run, "--until-caught-up", "--quiet")

    assert caught_up().code == 0
    assert pg_db.rows("SELECT count(*) FROM customers") == [(200,)]
    mysql_db.execute("UPDATE customers SET name = 'Ann' WHERE id = 7")
    mysql_db.execute("INSERT INTO visits VALUES ('2026-03-04', 'home')")
    assert tieout(*verify, "--quiet").code == 1, "it is not followed at the moment"
    ended = caught_up()
    assert ended.code == 0, ended.err
    assert pg_db.rows("SELECT name FROM customers WHERE id = 7") == [("Ann",)]

    assert "caught up" in tieout(*status).out
    verified = tieout(*verify, "--output", "json")
    assert verified.code == 0, verified.out + verified.err
    found = json.loads(verified.out)
    assert found["verdict"] == "equal"
    rows = {table["source_table"].partition(".")[2]: table["rows"]["source"] for table in found["tables"]}
    assert rows == {"customers": 200, "visits": 4}
