"""Files of Debezium's events are moved to databases: what the events tell is what is there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.background import in_background
from tests.integration.moving.pairs import remarks_of
from tests.servers.debezium import BIGINT, INT, TEXT, Feed, Topic, decimal, named, unscaled
from tieout import api
from tieout.errors import LogLostError, ReadError, UnsupportedError
from tieout.meta import Wanted
from tieout.model.documents import move_status_document
from tieout.model.moves import Consistency, Delivery
from tieout.model.preflight import Severity
from tieout.model.requests import MoveRequest, TableRequest, VerifyRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

ORDERS = Topic("orders", {"id": INT, "name": TEXT, "total": decimal(20, 4)}, optional=["total"])


@dataclass(frozen=True)
class Feeding:
    """A feed, a database, and a task that moves one to the other."""

    feed: Feed
    target: Database
    spark: SparkSession
    request: MoveRequest
    meta: str

    def asking(self, *tables: str, **changes: Any) -> Feeding:
        requests = tuple(map(TableRequest, tables))
        return replace(self, request=replace(self.request, tables=requests, **changes))

    def run(self, **options: Any) -> dict[str, Any]:
        options = {"until_caught_up": True, **options}
        return move_status_document(api.run_move(self.request, spark=self.spark, meta=self.meta, **options))

    def rows(self, columns: str = "id, name, total", table: str = "orders") -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in self.target.rows(f"SELECT {columns} FROM {table}"))


@pytest.fixture(params=["pg_db_b", "mysql_db_b"], ids=["postgres", "mariadb"])
def feeding(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Feeding]:
    yield from _feeding(request.getfixturevalue(request.param), spark, tmp_path)


@pytest.fixture
def to_postgres(pg_db_b: Database, spark: SparkSession, tmp_path: Path) -> Iterator[Feeding]:
    """Where one target is like the other."""
    yield from _feeding(pg_db_b, spark, tmp_path)


def _feeding(target: Database, spark: SparkSession, directory: Path) -> Iterator[Feeding]:
    feed = Feed(directory / "feed")
    task = MoveRequest(
        f"feed-{target.name}",
        feed.url,
        target.url,
        (TableRequest("orders"),),
        Delivery.EXACTLY_ONCE,
        Consistency.ROW,
    )
    found = Feeding(feed, target, spark, task, f"sqlite:///{directory}/meta.db")
    yield found
    api.drop_move(found.request, found.meta)


def order(number: int, name: str = "a", total: int | None = None) -> dict[str, Any]:
    return {"id": number, "name": name, "total": None if total is None else unscaled(total)}


def test_a_feed_becomes_a_table_and_is_followed(feeding: Feeding) -> None:
    """The snapshot, changes of every kind, a key that changes; and then more of them, also in a new file."""
    feeding.feed.append("orders-9.jsonl", ORDERS.read(*(order(n, f"name {n}", n * 2500) for n in range(50))))
    feeding.feed.append(
        "orders-10.jsonl",
        [
            *ORDERS.updated(order(1, "ä\tb\\c\n'", -5)),
            *ORDERS.deleted({"id": 2}),
            *ORDERS.rekeyed({"id": 3}, order(103)),
        ],
    )
    status = feeding.run()
    assert remarks_of(status) == []
    found = feeding.rows()
    assert [row[0] for row in found] == [0, 1, *range(4, 50), 103]
    assert (found[1][1], str(found[1][2])) == ("ä\tb\\c\n'", "-0.0005")
    feeding.feed.append("orders-10.jsonl", ORDERS.created(order(200)))
    feeding.feed.append("orders-11.jsonl", ORDERS.deleted(*({"id": n} for n in range(50))))
    status = feeding.run()
    assert (remarks_of(status), status["changes"]) == ([], 51)
    assert feeding.rows() == [(103, "a", None), (200, "a", None)]


def test_events_that_come_again_change_nothing(feeding: Feeding) -> None:
    """Debezium sends events again after it was restarted: all of them, here, and rows come back until they are gone."""
    lines = [
        *ORDERS.read(order(1), order(2)),
        *ORDERS.updated(order(1, "b", 7)),
        *ORDERS.deleted({"id": 2}),
        *ORDERS.rekeyed({"id": 1}, order(3, "c")),
    ]
    feeding.feed.append("a.jsonl", lines)
    assert remarks_of(feeding.run()) == []
    for name in ("b.jsonl", "c.jsonl"):
        feeding.feed.append(name, lines)
        status = feeding.run()
        assert remarks_of(status) == [], "nobody counts which rows were there"
        assert feeding.rows() == [(3, "c", None)]
    feeding.feed.append("c.jsonl", [*ORDERS.deleted({"id": 99}), *ORDERS.updated(order(98))])
    assert remarks_of(feeding.run()) == []
    assert feeding.rows() == [(3, "c", None), (98, "a", None)]


def test_each_key_has_its_own_order(to_postgres: Feeding) -> None:
    """However events of different keys are mixed, and wherever a batch ends."""
    import random

    mixed = random.Random(5)
    queues = {
        key: [
            ORDERS.created(order(key, "new")),
            *(ORDERS.updated(order(key, f"{key} at {turn}", turn)) for turn in range(6)),
            *([ORDERS.deleted({"id": key})] if key % 3 == 0 else []),
        ]
        for key in range(20)
    }
    lines: list[str] = []
    while queues:
        key = mixed.choice(list(queues))
        lines += queues[key].pop(0)
        if not queues[key]:
            del queues[key]
    for number in range(5):
        share = len(lines) // 5 + 1
        to_postgres.feed.append(f"orders-{number}.jsonl", lines[number * share : (number + 1) * share])
    asked = replace(
        to_postgres,
        request=replace(to_postgres.request, options=replace(to_postgres.request.options, batch_bytes=20_000)),
    )
    asked.run()
    assert [row[:2] for row in asked.rows()] == [(key, f"{key} at 5") for key in range(20) if key % 3]


def test_a_table_that_is_emptied(feeding: Feeding) -> None:
    feeding.feed.append("a.jsonl", [*ORDERS.read(order(1), order(2)), *ORDERS.truncated(), *ORDERS.created(order(5))])
    feeding.run()
    assert feeding.rows("id") == [(5,)]
    feeding.feed.append("a.jsonl", [*ORDERS.updated(order(5, "z")), *ORDERS.truncated(), *ORDERS.created(order(6))])
    feeding.run()
    assert feeding.rows("id") == [(6,)]


def test_a_large_value_that_an_event_leaves_out_stays(feeding: Feeding) -> None:
    left_out = "__debezium_unavailable_value"
    feeding.feed.append("a.jsonl", ORDERS.read(order(1, "x" * 9000), order(2, left_out)))
    feeding.run()
    feeding.feed.append("a.jsonl", ORDERS.updated(order(1, left_out, 3)))
    feeding.run()
    assert [(n, len(name)) for n, name in feeding.rows("id, name")] == [(1, 9000), (2, len(left_out))]


def test_a_value_that_is_left_out_and_nowhere_stops_its_table_alone(to_postgres: Feeding) -> None:
    """A row with a large value gets another key: the target no longer has the value."""
    items = Topic("items", {"id": INT})
    to_postgres.feed.append("a.jsonl", [*ORDERS.read(order(1, "x" * 9000)), *items.created({"id": 1})])
    asked = to_postgres.asking("orders", "items")
    asked.run()
    left_out = order(2, "__debezium_unavailable_value")
    asked.feed.append("a.jsonl", [*ORDERS.rekeyed(order(1), left_out), *items.created({"id": 2})])
    status = asked.run()
    stopped = {table["source"]: table["stopped"] for table in status["tables"]}
    assert "its column name was left out of a row that got another key" in stopped["shop.orders"]
    assert stopped["shop.items"] is None
    assert (2,) not in asked.rows("id")
    assert asked.rows("id", "items") == [(1,), (2,)]


def test_a_null_that_the_target_does_not_take_stops_its_table_alone(feeding: Feeding) -> None:
    items = Topic("items", {"id": INT})
    feeding.feed.append("a.jsonl", [*ORDERS.read(order(1)), *items.created({"id": 1})])
    asked = feeding.asking("orders", "items")
    asked.run()
    relaxed = Topic("orders", ORDERS.columns, optional=["total", "name"], number=50)
    feeding.feed.append("a.jsonl", [*relaxed.created({**order(2), "name": None}), *items.created({"id": 2})])
    status = asked.run()
    stopped = {table["source"]: table["stopped"] for table in status["tables"]}
    assert "null" in stopped["shop.orders"].lower()
    assert stopped["shop.items"] is None
    assert asked.rows("id", "items") == [(1,), (2,)]


def test_a_key_from_the_url(to_postgres: Feeding) -> None:
    """Lines that are values alone do not tell the key."""
    lines = Topic("lines", {"order_id": INT, "number": INT, "article": TEXT}, (), keyed=False)
    row = {"order_id": 1, "number": 1, "article": "a"}
    to_postgres.feed.append("lines.ndjson", lines.created(row, {**row, "number": 2}))
    asked = to_postgres.asking("lines")
    with pytest.raises(UnsupportedError, match=r"have no key.*key=TABLE"):
        asked.run()
    asked = asked.asking("lines", source=f"{asked.feed.url}&key=lines:order_id+number")
    asked.run()
    asked.feed.append("lines.ndjson", [*lines.updated({**row, "article": "b"}), *lines.deleted({**row, "number": 2})])
    asked.run()
    assert asked.rows("order_id, number, article", "lines") == [(1, 1, "b")]


WIDE = {
    "id": INT,
    "truth": {"type": "boolean"},
    "small": {"type": "int16"},
    "big": BIGINT,
    "single": {"type": "float"},
    "twice": {"type": "double"},
    "day": named("int32", "io.debezium.time.Date"),
    "clock": named("int64", "io.debezium.time.MicroTime"),
    "at": named("int64", "io.debezium.time.MicroTimestamp"),
    "milli": named("int64", "io.debezium.time.Timestamp"),
    "zoned": named("string", "io.debezium.time.ZonedTimestamp"),
    "born": named("int32", "io.debezium.time.Year"),
    "doc": named("string", "io.debezium.data.Json"),
    "uid": named("string", "io.debezium.data.Uuid"),
    "sort": named("string", "io.debezium.data.Enum", allowed="a,b"),
    "flags": named("bytes", "io.debezium.data.Bits", length=10),
    "raw": {"type": "bytes"},
    "exact": decimal(30, 10),
}
WIDE_ROW = {
    "id": 1,
    "truth": True,
    "small": -32768,
    "big": 2**63 - 1,
    "single": 0.1,
    "twice": 5e-324,
    "day": 17_702,
    "clock": 86_399_999_999,
    "at": 1_529_507_596_945_104,
    "milli": -1,
    "zoned": "2018-06-20T15:13:16.945104+02:00",
    "born": 1999,
    "doc": '{"b": 1.10, "a": null}',
    "uid": "9d3c5e0a-1111-4222-8333-444455556666",
    "sort": "b",
    "flags": "BQI=",
    "raw": "AP+A",
    "exact": unscaled(12345678901234567890_1234567891),
}


def test_every_type_arrives(feeding: Feeding) -> None:
    wide = Topic("wide", WIDE, optional=[name for name in WIDE if name != "id"])
    feeding.feed.append("a.jsonl", wide.created(WIDE_ROW, {**dict.fromkeys(WIDE), "id": 2}))
    feeding.asking("wide").run()
    texts = "small, big, twice, day, clock, at, milli, born, doc, uid, sort, raw, exact"
    (found,) = feeding.target.rows(f"SELECT {texts} FROM wide WHERE id = 1")
    shown = [value.hex() if isinstance(value, bytes) else str(value) for value in found]
    assert shown[:4] == ["-32768", str(2**63 - 1), "5e-324", "2018-06-20"]
    assert "23:59:59.999999" in shown[4]
    assert shown[5:8] == ["2018-06-20 15:13:16.945104", "1969-12-31 23:59:59.999000", "1999"]
    assert shown[9:] == [WIDE_ROW["uid"], "b", "00ff80", "12345678901234567890.1234567891"]
    ((single, zoned),) = feeding.target.rows(
        "SELECT CAST(single AS DECIMAL(10, 5)), zoned = TIMESTAMP '2018-06-20 13:13:16.945104' FROM wide WHERE id = 1"
        if feeding.target.server.scheme == "mysql"
        else "SELECT single, zoned = '2018-06-20 13:13:16.945104Z' FROM wide WHERE id = 1"
    )
    assert (float(single), bool(zoned)) == (0.1, True)
    ((flags,),) = feeding.target.rows(
        "SELECT CAST(flags AS CHAR(10)) FROM wide WHERE id = 1"
        if feeding.target.server.scheme != "mysql"
        else "SELECT LPAD(BIN(flags + 0), 10, '0') FROM wide WHERE id = 1"
    )
    assert flags == "1000000101"


def test_a_column_that_is_added(feeding: Feeding) -> None:
    """While it is followed, and in the middle of what was there at the start: earlier rows have its default."""
    more = ORDERS.with_column("note", TEXT)
    feeding.feed.append("a.jsonl", [*ORDERS.read(order(1)), *more.created({**order(2), "note": "n"})])
    feeding.run()
    assert feeding.rows("id, note") == [(1, None), (2, "n")]
    third = more.with_column("rank", {"type": "int32", "default": 7}, optional=False)
    feeding.feed.append("a.jsonl", third.created({**order(3), "note": None, "rank": 8}))
    status = feeding.run()
    assert feeding.rows("id, " + _quoted(feeding, "rank")) == [(1, 7), (2, 7), (3, 8)]
    assert status["tables"][0]["stopped"] is None


def test_events_from_before_a_column_was_added_come_again(feeding: Feeding) -> None:
    """Debezium was restarted: the table goes on, with a mover that runs and with one that starts."""
    old = [*ORDERS.read(order(1), order(2)), *ORDERS.updated(order(1, "b"))]
    more = ORDERS.with_column("note", TEXT)
    new = more.created({**order(3), "note": "n"})
    feeding.feed.append("a.jsonl", [*old, *new])
    feeding.run()
    expected = [(1, "b", None), (2, "a", None), (3, "a", "n")]
    feeding.feed.append("a.jsonl", old[-1:])
    for _ in range(2):
        status = feeding.run()
        assert status["tables"][0]["stopped"] is None
        assert feeding.rows("id, name, note") == expected
        feeding.feed.append("a.jsonl", [*old, *new, *old])
    later = Topic("orders", ORDERS.columns, optional=["total"], number=more.number + 100)
    feeding.feed.append("a.jsonl", later.created(order(4)))
    with pytest.raises(UnsupportedError, match="its column note was dropped"):
        feeding.run()
    assert feeding.rows("id, name, note") == expected


def _quoted(feeding: Feeding, name: str) -> str:
    return f"`{name}`" if feeding.target.server.scheme == "mysql" else f'"{name}"'


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        (Topic("orders", {"id": INT, "name": TEXT}), "no longer has a column total"),
        (Topic("orders", {**ORDERS.columns, "name": INT}, optional=["total"]), "its column name was changed"),
        (Topic("orders", ORDERS.columns, ("id", "name"), optional=["total"]), "the key of its events was changed"),
        (
            ORDERS.with_column("seen", named("int64", "io.debezium.time.Timestamp")),
            "got a column seen: shop.orders: its events do not tell what rows got",
        ),
    ],
    ids=["dropped", "retyped", "rekeyed", "unknown default"],
)
def test_what_can_not_be_followed_stops_its_table_alone(to_postgres: Feeding, then: Topic, reason: str) -> None:
    items = Topic("items", {"id": INT})
    to_postgres.feed.append("a.jsonl", [*ORDERS.read(order(1)), *items.created({"id": 1})])
    asked = to_postgres.asking("orders", "items")
    asked.run()
    row = {**order(2), "name": 5 if then.columns["name"] is INT else "n", "seen": 1}
    changed = then.created({name: row[name] for name in then.columns})
    asked.feed.append("a.jsonl", [*ORDERS.created(order(4)), *changed, *items.created({"id": 2})])
    status = asked.run()
    stopped = {table["source"]: table["stopped"] for table in status["tables"]}
    assert reason in stopped["shop.orders"]
    assert stopped["shop.items"] is None
    assert asked.rows("id") == [(1,), (4,)], "all before it was applied"
    assert asked.rows("id", "items") == [(1,), (2,)]


@pytest.mark.parametrize("harm", ["dropped", "does not fit"])
def test_a_stopped_table_is_restarted(to_postgres: Feeding, harm: str) -> None:
    """It reads the feed from its beginning: that helps once the target is right, and not where events stop it."""
    items = Topic("items", {"id": INT})
    to_postgres.target.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, name varchar(9) NOT NULL, total numeric(20,4))"
    )
    to_postgres.feed.append("a.jsonl", [*ORDERS.read(order(1)), *items.created({"id": 1})])
    asked = to_postgres.asking("orders", "items")
    asked.run()
    shorter = Topic("orders", {"id": INT, "name": TEXT}, number=ORDERS.number)
    bad = shorter.created({"id": 2, "name": "b"}) if harm == "dropped" else ORDERS.created(order(2, "far too long"))
    asked.feed.append("a.jsonl", [*bad, *items.created({"id": 2})])
    stopped = asked.run()["tables"]
    assert [table["stopped"] is None for table in stopped] == [False, True]
    asked.target.execute("ALTER TABLE orders ALTER name TYPE varchar(20)")
    api.restart_table(asked.request, "orders", asked.meta)
    status = asked.run()
    (restarted,) = (table for table in status["tables"] if table["source"] == "shop.orders")
    assert (restarted["stopped"] is None) is (harm == "does not fit")
    assert asked.rows("id", "items") == [(1,), (2,)]
    if harm == "does not fit":
        assert asked.rows("id, name") == [(1, "a"), (2, "far too long")]


def test_a_stopped_feed_says_what_helps(to_postgres: Feeding) -> None:
    """Dropping the task alone would read the same events again."""
    to_postgres.feed.append("a.jsonl", [*ORDERS.read(order(1)), *ORDERS.created({**order(2), "total": "x"})])
    for _ in range(2):
        with pytest.raises(UnsupportedError) as caught:
            to_postgres.run()
        assert "start over with events from after" in str(caught.value)
        assert f"tieout task restart {to_postgres.request.task} TABLE" in str(caught.value)


def test_a_value_that_is_none_stops_its_table(to_postgres: Feeding) -> None:
    to_postgres.feed.append("a.jsonl", [*ORDERS.read(order(1)), *ORDERS.created({**order(2), "total": "secret"})])
    with pytest.raises(UnsupportedError, match=r"a\.jsonl, byte \d+: its column total has no value") as caught:
        to_postgres.run()
    assert "secret" not in str(caught.value)


def test_a_key_that_is_null_stops_its_table_alone(to_postgres: Feeding) -> None:
    items = Topic("items", {"id": INT})
    broken = ORDERS.created({**order(2), "id": None})
    to_postgres.feed.append("a.jsonl", [*ORDERS.read(order(1)), *broken, *items.created({"id": 1})])
    asked = to_postgres.asking("orders", "items")
    status = asked.run()
    stopped = {table["source"]: table["stopped"] for table in status["tables"]}
    assert "line 2 of a.jsonl" in stopped["shop.orders"]
    assert "its column id is NULL" in stopped["shop.orders"]
    assert (stopped["shop.items"], asked.rows("id", "items")) == (None, [(1,)])


def _edit(feed: Feed) -> None:
    path = feed.directory / "a.jsonl"
    path.write_bytes(path.read_bytes().replace(b"first", b"FIRST"))


def _insert_file(feed: Feed) -> None:
    feed.append("0.jsonl", ORDERS.created(order(7)))


def _grow_first(feed: Feed) -> None:
    feed.append("a.jsonl", ORDERS.created(order(7)))


@pytest.mark.parametrize(
    "harm",
    [
        _edit,
        _insert_file,
        _grow_first,
        lambda feed: (feed.directory / "a.jsonl").unlink(),
        lambda feed: (feed.directory / "a.jsonl").rename(feed.directory / "aa.jsonl"),
        lambda feed: (feed.directory / "b.jsonl").write_bytes((feed.directory / "b.jsonl").read_bytes()[:-40]),
    ],
    ids=["edited", "a file before", "an earlier file grew", "deleted", "renamed", "cut off"],
)
def test_files_that_were_read_and_are_others_now(to_postgres: Feeding, harm: Any) -> None:
    to_postgres.feed.append("a.jsonl", ORDERS.read(order(1, "first"), order(2)))
    to_postgres.feed.append("b.jsonl", ORDERS.created(order(3)))
    to_postgres.run()
    harm(to_postgres.feed)
    with pytest.raises(LogLostError, match="drop the task"):
        to_postgres.run()
    assert to_postgres.rows("id") == [(1,), (2,), (3,)]


def test_the_only_file_is_gone(to_postgres: Feeding) -> None:
    """The feed has no tables then; yet its task has begun, and goes on once the file is back."""
    to_postgres.feed.append("a.json", ORDERS.read(order(1)))
    to_postgres.run()
    path = to_postgres.feed.directory / "a.json"
    path.rename(to_postgres.feed.directory / "a.json.1")
    with pytest.raises(LogLostError, match="drop the task"):
        to_postgres.run()
    (to_postgres.feed.directory / "a.json.1").rename(path)
    to_postgres.feed.append("a.json", ORDERS.created(order(2)))
    assert remarks_of(to_postgres.run()) == []
    assert to_postgres.rows("id") == [(1,), (2,)]


def test_the_only_file_of_a_table_is_gone(to_postgres: Feeding) -> None:
    """It is not stopped for that, as a dropped table would be: it goes on once the file is back."""
    items = Topic("items", {"id": INT})
    to_postgres.feed.append("a.json", items.created({"id": 1}))
    to_postgres.feed.append("b.json", ORDERS.read(order(1)))
    asked = to_postgres.asking("orders", "items")
    asked.run()
    path = asked.feed.directory / "b.json"
    path.rename(asked.feed.directory / "b.json.1")
    with pytest.raises(LogLostError, match="drop the task"):
        asked.run()
    (asked.feed.directory / "b.json.1").rename(path)
    asked.feed.append("b.json", ORDERS.created(order(2)))
    status = asked.run()
    assert [table["stopped"] for table in status["tables"]] == [None, None]
    assert asked.rows("id") == [(1,), (2,)]


def test_it_is_followed_while_it_is_written(to_postgres: Feeding) -> None:
    """Lines come in pieces, and files are added; what is no whole line yet is left for later."""
    feed, seen = to_postgres.feed, Event()
    feed.append("orders-1.jsonl", ORDERS.read(order(0)))

    def write(done: Event) -> None:
        try:
            _until(lambda: to_postgres.rows("id") == [(0,)])
            feed.append("orders-1.jsonl", ORDERS.created(order(1)))
            line = (ORDERS.created(order(2, "ü"))[0] + "\n").encode()
            feed.append_raw("orders-1.jsonl", line[:700])
            _until(lambda: to_postgres.rows("id") == [(0,), (1,)])
            time.sleep(1)
            feed.append_raw("orders-1.jsonl", line[700:])
            _until(lambda: len(to_postgres.rows("id")) == 3)
            feed.append("orders-2.jsonl", ORDERS.deleted({"id": 0}))
            _until(lambda: to_postgres.rows("id") == [(1,), (2,)])
            seen.set()
        finally:
            api.control_move(to_postgres.request.task, Wanted.STOP, to_postgres.meta)

    with in_background(write):
        to_postgres.run(until_caught_up=False)
    assert seen.is_set()


def _until(holds: Any) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            if holds():
                return
        except Exception:
            assert time.monotonic() < end
        assert time.monotonic() < end
        time.sleep(0.2)


def test_a_line_that_is_no_event_ends_the_mover(to_postgres: Feeding) -> None:
    to_postgres.feed.append("a.jsonl", ORDERS.read(order(1)))
    to_postgres.run()
    to_postgres.feed.append("a.jsonl", ['{"op":"c","after":{"id":1},"source":{}}'])
    with pytest.raises((ReadError, UnsupportedError), match=r"a\.jsonl:3|no schema"):
        to_postgres.run()


def test_preflight_says_what_is_promised(to_postgres: Feeding) -> None:
    """All that is wrong at once; what is right is ready, and a note says that a feed can't verify it."""
    lines = Topic("lines", {"id": INT}, (), keyed=False)
    to_postgres.feed.append("a.jsonl", [*ORDERS.read(order(1)), *lines.created({"id": 1}), "{"])
    asked = to_postgres.asking("orders", "lines")
    verify = VerifyRequest(asked.request.source, asked.request.target, asked.request.tables)
    found = api.preflight(verify, asked.meta, move=asked.request)
    prevents = [problem.message for problem in found.problems if problem.severity is Severity.PREVENTS]
    assert len(prevents) == 2
    assert "a.jsonl:3: the line is not an event" in prevents[0]
    assert "have no key" in prevents[1]
    path = asked.feed.directory / "a.jsonl"
    path.write_bytes(path.read_bytes().removesuffix(b"{\n"))
    asked = to_postgres.asking("orders")
    verify = VerifyRequest(asked.request.source, asked.request.target, asked.request.tables)
    found = api.preflight(verify, asked.meta, move=asked.request)
    assert [problem.severity for problem in found.problems] == [Severity.NOTE]
    assert found.move is not None
    assert found.move.source_levels == (Consistency.ROW,)


def test_more_than_rows_is_refused(to_postgres: Feeding) -> None:
    to_postgres.feed.append("a.jsonl", ORDERS.read(order(1)))
    with pytest.raises(UnsupportedError, match="consistency"):
        to_postgres.asking("orders", consistency=Consistency.TABLE).run()


def test_a_feed_is_not_verified(to_postgres: Feeding) -> None:
    to_postgres.feed.append("a.jsonl", ORDERS.read(order(1)))
    to_postgres.run()
    with pytest.raises(UnsupportedError, match="has no rows to compare"):
        api.verify(
            to_postgres.feed.url, to_postgres.target.url, "orders", spark=to_postgres.spark, meta=to_postgres.meta
        )
