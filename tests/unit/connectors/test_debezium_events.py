"""Lines of a feed are events, or say why they are not; and what was read of its files stays proven."""

from __future__ import annotations

import json
import re

import pytest

from tests.log_items import only_told
from tests.servers.debezium import INT, TEXT, Feed, Topic, decimal
from tieout.config.urls import parse_url
from tieout.connectors.debezium.feed.events import BadLine, LineParser
from tieout.connectors.registry import open_checker, open_endpoint, open_source, open_target, open_writer
from tieout.errors import LogLostError, MissingObjectError, UnreachableError, UnsupportedError
from tieout.model.positions import Position
from tieout.model.row_changes import KEPT, ChangeKind, Commit, Emptied, Rows, Statement
from tieout.model.tables import TableName

ITEMS = Topic("items", {"id": INT, "name": TEXT}, optional=["name"])
NAME = TableName("shop", "items")


@pytest.fixture
def feed(tmp_path):
    made = Feed(tmp_path / "feed")
    made.append("a-1.jsonl", [])
    return made


def log_of(feed):
    return open_source(parse_url(feed.url)).log("t")


def changes(feed, after=None, upto=None):
    log = log_of(feed)
    items = only_told(log.read(after or Position("0"), upto or log.now(), frozenset([NAME])))
    return [(item.kind, row) for item in items if isinstance(item, Rows) for row in item.rows]


def parsed(text):
    return LineParser().parse(text.encode())


def row(number, name="a"):
    return {"id": number, "name": name}


def test_a_line_is_a_value_or_has_a_key_too():
    bare = Topic("items", ITEMS.columns, keyed=False)
    (alone,), (with_key,) = bare.created(row(1)), ITEMS.created(row(1))
    assert (parsed(alone).key, parsed(alone).after) == (None, row(1))
    assert (parsed(with_key).key, parsed(with_key).after) == (("id",), row(1))


def test_a_line_of_kcat():
    (line,) = ITEMS.created(row(1))
    both = json.loads(line)
    texts = {"topic": "t", "partition": 0, "key": json.dumps(both["key"]), "payload": json.dumps(both["value"])}
    assert parsed(json.dumps(texts)) == parsed(line) or parsed(json.dumps(texts)).after == row(1)
    assert parsed(json.dumps({**texts, "payload": None})) is None


@pytest.mark.parametrize(
    "line",
    [
        '{"key": {"schema": {"fields": []}, "payload": {}}, "value": null}',
        '{"schema": null, "payload": null}',
        '{"schema": {"name": "io.debezium.connector.common.Heartbeat"}, "payload": {"ts_ms": 1}}',
        '{"schema": {"name": "io.debezium.connector.common.TransactionMetadataValue"}, "payload": {"status": "BEGIN"}}',
        '{"schema": {"name": "x.Envelope"}, "payload": {"op": "m", "source": {}, "message": {}}}',
    ],
)
def test_what_changes_no_row_is_skipped(line):
    assert parsed(line) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "not valid JSON"),
        ('{"op": ', "not valid JSON"),
        ("[1]", "not a JSON object"),
        ('{"before": null, "after": {"id": 1}, "op": "c", "source": {}}', "has no schema"),
        ('{"schema": null, "payload": {"op": "c"}}', "has no schema"),
        ('{"id": 1, "name": "flat"}', "not a change event"),
        ('{"schema": {"name": "server.shop.items.Value"}, "payload": {"id": 1}}', "flattened"),
        ('{"schema": {"name": "x.Envelope"}, "payload": {"op": "x", "source": {}}}', "none of c, u, d"),
        ('{"schema": {"name": "x.Envelope"}, "payload": {"op": "c", "source": {}}}', "names no table"),
    ],
)
def test_what_is_not_an_event_is_said_without_its_values(line, reason):
    with pytest.raises(BadLine, match=reason) as caught:
        parsed(line)
    assert "flat" not in str(caught.value) or reason == "flattened"


def test_numbers_in_names_are_numbers(feed):
    feed.append("a-10.jsonl", ITEMS.updated(row(1, "last")))
    feed.append("a-9.jsonl", ITEMS.created(row(1, "first")))
    assert [image for _, image in changes(feed)] == [(1, "first"), (1, "last")]


def test_a_deleted_row_tells_its_key_alone(feed):
    feed.append("a-1.jsonl", [*ITEMS.created(row(1)), *ITEMS.deleted({"id": 1})])
    assert changes(feed)[1] == (ChangeKind.DELETE, (1, KEPT))


def test_a_delete_without_its_row_is_applied_by_its_key(feed):
    """The key in the line tells which row it was."""
    items = Topic("items", ITEMS.columns, connector="mysql")
    (line, _) = items.deleted(row(1))
    event = json.loads(line)
    event["value"]["payload"]["before"] = None
    feed.append("a-1.jsonl", [*items.created(row(1)), json.dumps(event)])
    assert changes(feed)[1] == (ChangeKind.DELETE, (1, KEPT))
    event["key"] = None
    with pytest.raises(BadLine, match="neither its before row nor its key") as caught:
        parsed(json.dumps(event))
    assert "write the events with their keys" in caught.value.fix


@pytest.mark.parametrize("op", ["created", "updated", "deleted"])
def test_a_key_that_is_null_is_no_key(feed, op):
    """Though its schema forbids it. Its table is stopped: nothing would identify the row."""
    wrong = getattr(ITEMS, op)({"id": None, "name": "x"})
    feed.append("a-1.jsonl", ITEMS.created(row(1)))
    feed.append("a-2.jsonl", [*ITEMS.created(row(2)), *wrong])
    log = log_of(feed)
    items = list(log.read(Position("0"), log.now(), frozenset([NAME])))
    (stated,) = (item for item in items if isinstance(item, Statement))
    (redefined,) = stated.redefined
    assert redefined.reason is not None
    assert re.match(r"line 2 of a-2\.jsonl, byte \d+: its column id is NULL", redefined.reason)


def test_a_row_that_lacks_a_value_and_got_another_key_stops_its_table(feed):
    """Debezium writes a delete and an insert: whatever the target has under the new key is another row's value."""
    left_out = row(1, "__debezium_unavailable_value")
    feed.append("a-1.jsonl", [*ITEMS.created(row(1), row(5, "five")), *ITEMS.deleted(row(1))])
    feed.append("a-2.jsonl", ITEMS.rekeyed(row(5), left_out))
    log = log_of(feed)
    items = list(log.read(Position("0"), log.now(), frozenset([NAME])))
    (stated,) = (item for item in items if isinstance(item, Statement))
    assert "its column name was left out of a row that got another key" in stated.redefined[0].reason
    assert not any(
        KEPT in image
        for item in items
        if isinstance(item, Rows)
        for image in item.rows
        if image[0] != 5 and item.kind is not ChangeKind.DELETE
    )


def test_a_snapshot_has_no_values_that_are_left_out(feed):
    text = "__debezium_unavailable_value"
    feed.append("a-1.jsonl", [*ITEMS.read(row(1, text)), *ITEMS.updated(row(1, text))])
    assert changes(feed) == [(ChangeKind.INSERT, (1, text)), (ChangeKind.UPDATE, (1, KEPT))]


def test_another_placeholder_is_in_the_url(feed):
    feed.append("a-1.jsonl", ITEMS.updated(row(1, "gone")))
    log = open_source(parse_url(f"{feed.url}&unavailable_value=gone")).log("t")
    (rows,) = (item for item in log.read(Position("0"), log.now(), frozenset([NAME])) if isinstance(item, Rows))
    assert rows.rows == [(1, KEPT)]


ARRAY_OF_TEXTS = {"type": "array", "items": TEXT}
GEOMETRY = {"type": "struct", "name": "io.debezium.data.geometry.Geometry"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TEXT, "__debezium_unavailable_value"),
        ({"type": "bytes"}, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="),
        (ARRAY_OF_TEXTS, ["__debezium_unavailable_value"]),
        ({"type": "array", "items": {"type": "bytes"}}, ["X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="]),
        ({"type": "array", "items": INT}, list(b"__debezium_unavailable_value")),
        ({"type": "array", "items": TEXT}, ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]),
        ({"type": "map"}, {"__debezium_unavailable_value": "__debezium_unavailable_value"}),
        (GEOMETRY, {"wkb": "AQEAACDmEAAAAAAA/IPXl8EAAAD8g9eXwQ==", "srid": None}),
    ],
    ids=["text", "bytes", "texts", "binaries", "numbers", "uuids", "map", "geometry"],
)
def test_what_stands_for_a_value_that_was_left_out(feed, schema, value):
    """Each type has a form of its own that Debezium's placeholder takes."""
    topic = Topic("items", {"id": INT, "name": schema}, optional=["name"])
    feed.append("a-1.jsonl", topic.updated(row(1, value)))
    assert changes(feed) == [(ChangeKind.UPDATE, (1, KEPT))]


def test_an_array_that_only_resembles_the_placeholder_is_a_value(feed):
    topic = Topic("items", {"id": INT, "name": ARRAY_OF_TEXTS}, optional=["name"])
    feed.append("a-1.jsonl", topic.updated(row(1, ["__debezium_unavailable_value", "x"]), row(2, [])))
    assert [image[1] for _, image in changes(feed)] == ['["__debezium_unavailable_value","x"]', "[]"]


def test_a_line_without_its_end_is_not_read(feed):
    (line,) = ITEMS.created(row(2))
    feed.append("a-1.jsonl", ITEMS.created(row(1)))
    feed.append_raw("a-1.jsonl", line.encode())
    assert len(changes(feed)) == 1
    feed.append_raw("a-1.jsonl", b"\n")
    assert len(changes(feed)) == 2


def test_a_file_that_ends_within_a_line_and_is_not_the_last(feed):
    feed.append_raw("a-1.jsonl", b"{")
    feed.append("a-2.jsonl", ITEMS.created(row(1)))
    with pytest.raises(UnreachableError, match=r"a-1\.jsonl ends within a line"):
        log_of(feed)


def test_a_file_may_begin_with_a_byte_order_mark(feed):
    mark = "\ufeff".encode()
    feed.append_raw("a-1.jsonl", mark)
    feed.append("a-1.jsonl", ITEMS.created(row(1)))
    feed.append_raw("a-2.jsonl", mark + b"\n")
    feed.append("a-2.jsonl", ITEMS.created(row(2)))
    assert [image for _, image in changes(feed)] == [(1, "a"), (2, "a")]
    assert open_source(parse_url(feed.url)).problems("t", []) == []


def test_a_batch_ends_before_a_table_is_emptied(feed):
    feed.append("a-1.jsonl", [*ITEMS.created(row(1)), *ITEMS.truncated(), *ITEMS.created(row(2))])
    log = log_of(feed)
    first, last = log.ends(Position("0"), 1 << 20, 10)
    assert changes(feed, upto=first) == [(ChangeKind.INSERT, (1, "a"))]
    items = list(log.read(first, last, frozenset([NAME])))
    assert any(isinstance(item, Emptied) for item in items)


def test_an_event_says_when_it_was_committed(feed):
    feed.append("a-1.jsonl", ITEMS.created(row(1)))
    log = log_of(feed)
    (commit,) = (item for item in log.read(Position("0"), log.now(), frozenset([NAME])) if isinstance(item, Commit))
    assert commit.at > 1_700_000_000_000_000


def test_older_events_have_what_a_later_column_began_with(feed):
    more = ITEMS.with_column("rank", {"type": "int32", "default": 7}, optional=False)
    feed.append("a-1.jsonl", [*ITEMS.created(row(1)), *more.created({**row(2), "rank": 8})])
    assert [image for _, image in changes(feed)] == [(1, "a", 7), (2, "a", 8)]


def test_a_column_that_is_added_has_an_unknown_beginning(feed):
    """Unless the user says otherwise: its default may have been changed before its first event."""
    untold = Feed(feed.directory, "")
    more = ITEMS.with_column("rank", {"type": "int32"})
    feed.append("a-1.jsonl", [*ITEMS.created(row(1)), *more.created({**row(2), "rank": 8})])
    url = parse_url(untold.url)
    (table,) = open_endpoint(url).describe([NAME])
    with pytest.raises(UnsupportedError, match=r"do not tell what rows got in its new column rank .*added_columns="):
        open_source(url).added_column_values(table, [table.column("rank")], None)
    (item,) = (
        item
        for item in log_of(untold).read(Position("0"), log_of(untold).now(), frozenset([NAME]))
        if isinstance(item, Rows) and item.rows[0][0] == 1
    )
    assert item.table.columns == ("id", "name"), "its rows have no value there, so the mover stops the table"


@pytest.mark.parametrize("connector", ["postgresql", "mysql"])
def test_events_of_an_earlier_schema_that_come_again_are_left_out(feed, connector):
    """With the TRUNCATE among them: what followed it would not come back. What they left is what they were."""
    items = Topic("items", {"id": INT, "name": TEXT}, optional=["name"], connector=connector)
    old = [*items.created(row(1)), *items.truncated(), *items.created(row(2))]
    more = items.with_column("rank", {"type": "int32", "default": 7}, optional=False)
    new = more.created({**row(3), "rank": 8})
    feed.append("a-1.jsonl", [*old, *new])
    end = log_of(feed).now()
    feed.append("a-1.jsonl", [*old, *new])
    log = log_of(feed)
    again = [item for item in log.read(end, log.now(), frozenset([NAME])) if isinstance(item, Rows | Emptied)]
    assert [item.rows for item in again] == [[(3, "a", 8)]]
    (table,) = open_endpoint(parse_url(feed.url)).describe([NAME])
    assert table.column_names == ("id", "name", "rank")
    notes = open_source(parse_url(feed.url)).problems("t", [table])
    assert not any("was dropped" in note.message for note in notes)
    feed.append("a-1.jsonl", more.truncated())
    assert any(isinstance(item, Emptied) for item in log_of(feed).read(end, log_of(feed).now(), frozenset([NAME])))


def test_a_truncate_of_which_place_and_time_disagree_stops_its_table(feed):
    """It may have come again: then the rows that followed it would be lost."""
    (line,) = ITEMS.truncated()
    event = json.loads(line)
    event["value"]["payload"]["source"]["ts_ms"] += 10**6
    more = ITEMS.with_column("rank", {"type": "int32", "default": 7}, optional=False)
    feed.append("a-1.jsonl", [*ITEMS.created(row(1)), *more.created({**row(2), "rank": 8})])
    feed.append("a-1.jsonl", [json.dumps(event)])
    log = log_of(feed)
    items = list(log.read(Position("0"), log.now(), frozenset([NAME])))
    assert not any(isinstance(item, Emptied) for item in items)
    (stated,) = (item for item in items if isinstance(item, Statement))
    assert "line 3 of a-1.jsonl" in str(stated.redefined[0].reason)


@pytest.mark.parametrize(
    "change",
    [
        lambda source: source.update(lsn=10**9),  # it is later
        lambda source: source.update(ts_ms=source["ts_ms"] + 10**6),  # the source was restored from an earlier copy
        lambda source: source.pop("lsn"),
        lambda source: source.pop("ts_ms"),
    ],
    ids=["later", "restored", "no place", "no time"],
)
def test_an_earlier_schema_that_may_be_a_new_one_is_not_left_out(feed, change):
    """Its table is stopped: a column was dropped."""
    old = ITEMS.created(row(1))
    more = ITEMS.with_column("rank", {"type": "int32", "default": 7}, optional=False)
    feed.append("a-1.jsonl", [*old, *more.created({**row(2), "rank": 8})])
    end = log_of(feed).now()
    event = json.loads(old[0])
    change(event["value"]["payload"]["source"])
    feed.append("a-1.jsonl", [json.dumps(event)])
    log = log_of(feed)
    (item,) = (item for item in log.read(end, log.now(), frozenset([NAME])) if isinstance(item, Rows))
    assert item.table.columns == ("id", "name")


@pytest.mark.parametrize(
    ("schema", "connector", "optional", "given"),
    [
        ({"type": "int32", "default": 7}, "postgresql", False, "7"),
        ({"type": "string", "default": "it's"}, "mysql", True, "'it''s'"),
        ({"type": "string"}, "postgresql", True, None),
        ({"type": "int32", "default": 0}, "mysql", False, "0"),
        # It may stand for a computed one.
        ({"type": "int32", "default": 0}, "postgresql", False, "unknown"),
        ({"type": "int64", "name": "io.debezium.time.Timestamp"}, "mysql", True, "unknown"),
    ],
)
def test_what_rows_got_in_a_new_column(feed, schema, connector, optional, given):
    items = Topic("items", {"id": INT, "name": TEXT}, optional=["name"], connector=connector)
    more = items.with_column("new", schema, optional=optional)
    feed.append(
        "a-1.jsonl", [*items.created(row(1)), *more.created({**row(2), "new": "x" if given == "'it''s'" else 1})]
    )
    url = parse_url(feed.url)
    (table,) = open_endpoint(url).describe([NAME])
    ask = open_source(url).added_column_values
    if given == "unknown":
        with pytest.raises(UnsupportedError, match="do not tell"):
            ask(table, [table.column("new")], None)
    else:
        assert ask(table, [table.column("new")], None) == {"new": given}


@pytest.mark.parametrize("size", [10, 1 << 20, 3 << 20], ids=["few bytes", "a block", "blocks"])
def test_a_proof_is_the_same_in_steps_and_at_once(feed, size):
    for number in range(4):
        feed.append("a-1.jsonl" if number < 2 else "a-2.jsonl", ITEMS.created(row(number, "x" * size)))
    log = log_of(feed)
    ends = log.ends(Position("0"), 1, 100)
    for end in ends:
        assert log.resume(end) == end
    in_steps = Position("0")
    for _ in ends:
        (in_steps,) = log.ends(in_steps, 1, 1)
    assert in_steps == ends[-1]
    *_, reached = log.read(Position("0"), log.now(), frozenset())
    assert reached.position == ends[-1]


@pytest.mark.parametrize("place", [100, 1 << 20, (2 << 20) + 5])
def test_a_byte_that_was_changed_is_noticed(feed, place):
    feed.append("a-1.jsonl", ITEMS.created(*(row(n, "x" * 500_000) for n in range(6))))
    log = log_of(feed)
    (end,) = log.ends(Position("0"), 1 << 30, 1)
    path = feed.directory / "a-1.jsonl"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(LogLostError):
        log.resume(end)


def test_preflight_names_every_line_that_is_wrong(feed):
    feed.append("a-1.jsonl", [*ITEMS.created(row(1)), "{", "", "[]"])
    found = open_source(parse_url(feed.url)).problems("t", [])
    assert [problem.message.split(": ")[0] for problem in found] == ["a-1.jsonl:2", "a-1.jsonl:4"]
    assert all(problem.fix for problem in found)


def test_preflight_of_a_feed_without_events(feed):
    (problem,) = open_source(parse_url(feed.url)).problems("t", [])
    assert "no events yet" in problem.message


def test_preflight_warns_of_what_events_may_hide(feed):
    dropped = Topic("items", {"id": INT})
    given = Topic("items", {"id": INT, "n": {"type": "int32", "default": 5}}, optional=["n"])
    feed.append("a-1.jsonl", [*ITEMS.created(row(1)), *dropped.created({"id": 2}), *given.created({"id": 3, "n": 5})])
    url = parse_url(feed.url)
    notes = " ".join(problem.message for problem in open_source(url).problems("t", open_endpoint(url).describe([NAME])))
    assert "column name was dropped" in notes
    assert "n may be NULL and has a default" in notes


@pytest.mark.parametrize("part", ["name", "db", "connector"])
@pytest.mark.parametrize("op", ["created", "truncated"])
def test_tables_of_two_databases_are_not_mixed(feed, op, part):
    """They have the same schema and name. What comes of the second one stops the table."""
    (line,) = ITEMS.created(row(2)) if op == "created" else ITEMS.truncated()
    event = json.loads(line)
    event["value"]["payload"]["source"][part] = "other"
    feed.append("a-1.jsonl", [*ITEMS.created(row(1)), *ITEMS.created(row(3)), json.dumps(event)])
    log = log_of(feed)
    items = list(log.read(Position("0"), log.now(), frozenset([NAME])))
    assert not any(isinstance(item, Emptied) for item in items)
    (stated,) = (item for item in items if isinstance(item, Statement))
    assert "its events are of two databases" in stated.redefined[0].reason
    assert [row for item in items if isinstance(item, Rows) for row in item.rows] == [(1, "a"), (3, "a")]
    if op == "created":
        url = parse_url(feed.url)
        notes = open_source(url).problems("t", open_endpoint(url).describe([NAME]))
        assert any("of several databases" in note.message for note in notes)


def test_a_feed_is_refused_where_it_has_nothing_to_give(feed):
    feed.append("a-1.jsonl", ITEMS.created(row(1)))
    url = parse_url(feed.url)
    with pytest.raises(UnsupportedError, match="feed of events, and has no rows to compare"):
        open_endpoint(url).reader()
    for part in (open_checker, open_target, open_writer):
        with pytest.raises(UnsupportedError, match="debezium://"):
            part(url)


def test_what_is_not_there_or_packed(feed):
    with pytest.raises(MissingObjectError):
        open_endpoint(parse_url(f"debezium:///{feed.directory}/none"))
    feed.append("a-2.jsonl.gz", [])
    with pytest.raises(UnsupportedError, match="is packed"):
        open_endpoint(parse_url(feed.url))


def test_one_file_is_a_feed_too(feed):
    feed.append("a-1.jsonl", ITEMS.created(row(1)))
    endpoint = open_endpoint(parse_url(f"debezium:///{feed.directory}/a-1.jsonl"))
    assert endpoint.tables() == [NAME]


def test_the_latest_schema_describes_a_table(feed):
    feed.append(
        "a-1.jsonl",
        [*ITEMS.created(row(1)), *ITEMS.with_column("total", decimal(5, 2)).created({**row(2), "total": None})],
    )
    (table,) = open_endpoint(parse_url(feed.url)).describe([NAME])
    assert (table.column_names, table.key) == (("id", "name", "total"), ("id",))
    assert [column.nullable for column in table.columns] == [False, True, True]
