"""`tieout run`, `preflight`, `verify` and `repair` of one task that filters, computes and merges."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Tieout
from tests.servers.sqlite import SqliteDatabase

TASK = """
redact_values: {redacted}
tasks:
  shop:
    source: {source}
    target: {target}
    tables:
      - from: orders_*
        to: orders
        where: "{where}"
        columns: {{origin: _table, total: price * qty}}
        exclude_columns: [price, qty]
      - people
    move: {{}}
"""


@pytest.fixture
def shop(sqlite_db: Callable[[str], SqliteDatabase], tmp_path: Path) -> tuple[SqliteDatabase, Callable[..., None]]:
    source, target = sqlite_db("source"), sqlite_db("target")
    for number in (1, 2):
        source.execute(f"CREATE TABLE orders_{number} (id INTEGER PRIMARY KEY, region TEXT, price INT, qty INT)")
        rows = [(n, "eu" if n % 2 else "EU", n, n % 5) for n in range(40)]
        source.executemany(f"INSERT INTO orders_{number} VALUES (?, ?, ?, ?)", rows)
    target.execute(
        "CREATE TABLE orders (origin TEXT NOT NULL, id INT NOT NULL, region TEXT, total INT, PRIMARY KEY (origin, id))"
    )
    for side in (source, target):
        side.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
    source.execute("INSERT INTO people VALUES (1, 'Ann')")

    def write(where: str = "region = 'eu'", redacted: str = "false") -> None:
        text = TASK.format(source=source.url, target=target.url, where=where, redacted=redacted)
        (tmp_path / "tieout.yaml").write_text(text, encoding="utf-8")

    write()
    return target, write


def test_a_task_from_preflight_to_repair(shop, tieout: Tieout):
    target, write = shop
    assert tieout("preflight", "shop").code == 0
    assert tieout("run", "shop", "--until-caught-up").code == 0
    assert tieout("verify", "shop").code == 0
    ready = tieout("preflight", "shop", "-o", "json")
    assert ready.code == 0, ready.out
    explained = tieout("verify", "shop", "--explain")
    assert "Spark filters the source: region = 'eu'" in explained.out
    assert "the rows of 2 tables of the source together" in explained.out

    target.execute("UPDATE orders SET total = total + 1 WHERE origin = 'orders_2' AND id = 7")
    target.execute("INSERT INTO orders VALUES ('orders_9', 7, 'eu', 1), ('orders_1', 8, 'EU', 24)")
    target.execute("UPDATE people SET name = 'Eve'")
    ended = tieout("verify", "shop", "-o", "json")
    assert ended.code == 1
    found = json.loads(ended.out)
    assert {(each["table"], each["kind"], *each["key"].values()) for each in found["differences"]} == {
        ("main.orders", "changed", "7", "orders_2"),
        ("main.orders", "extra", "7", "orders_9"),
        ("main.orders", "extra", "8", "orders_1"),
        ("main.people", "changed", "1"),
    }
    for form in ("text", "junit", "html", "csv"):
        assert "orders_9" in tieout("verify", "shop", "-o", form).out
    assert len(json.loads(tieout("verify", "shop", "--limit", "1", "-o", "json").out)["differences"]) == 1

    # SQL that is typed is the engine's, and narrows what the task compares.
    narrowed = tieout("verify", "shop", "--table", "orders_1", "--where", "id GLOB '7'")
    assert narrowed.code == 1
    assert "orders_9" in narrowed.out
    assert "id=8" not in narrowed.out
    assert tieout("verify", "shop", "--expr", "total=1").code == 2
    counted = json.loads(tieout("verify", "shop", "--table", "orders", "--counts-only", "-o", "json").out)
    assert counted["tables"][0]["rows"] == {"source": 40, "target": 42}

    assert tieout("verify", "shop").code == 1
    planned = tieout("repair", "plan", "last")
    assert "Spark filters, computes or merges its rows" in planned.out + planned.err
    assert tieout("repair", "apply", "last").code in (0, 3)
    assert target.rows("SELECT name FROM people") == [("Ann",)]
    assert target.rows("SELECT COUNT(*) FROM orders") == [(42,)]

    write(redacted="true")
    hidden = tieout("verify", "shop")
    assert hidden.code == 1
    assert "orders_9" in hidden.out  # a key
    write(where="nonsense(region) = 'eu'")
    for words in (("verify", "shop"), ("preflight", "shop")):
        refused = tieout(*words)
        assert refused.code == 2, words
        assert "nonsense(region) = 'eu'" in refused.out + refused.err
        assert "Traceback" not in refused.err
