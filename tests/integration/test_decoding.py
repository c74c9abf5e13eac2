"""PostgreSQL's logical decoding: what was changed is told once, in order, exactly as it is stored."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.integration.decoding.following import Follow, Followed, following, in_use, table, transactions
from tests.integration.decoding.types import COLUMNS, OTHER_AS_TEXT, PREPARED
from tests.log_items import only_told
from tests.servers.postgres import start_postgres
from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.move.preflight import log_problems
from tieout.connectors.postgres.wal import PostgresLog, slot
from tieout.connectors.postgres.wal.publication import IdentityKind, ReplicaIdentity, identities
from tieout.errors import AccessError, BusyError, LogLostError, UnreachableError, UnsupportedError, UsageError
from tieout.model.positions import Position, lsn
from tieout.model.row_changes import KEPT, Begin, Commit, LogItem, Rows
from tieout.model.tables import TableName


@pytest.fixture
def follow(pg_db: Any) -> Iterator[Follow]:
    with following(pg_db) as follow:
        yield follow


@pytest.fixture
def t(pg_db: Any, follow: Follow) -> Followed:
    """public.t with a key, followed."""
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    return follow("t")


# ------------------------------------------------------------------------------------------------ what is told


def test_a_transaction_is_called_by_its_xid(t: Followed) -> None:
    with t.database.connect() as connection:
        connection.autocommit = False
        (xid,) = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
        connection.execute("INSERT INTO t VALUES (1, 'a')")
        connection.commit()
    before = t.log.now()
    t.told()
    *_, commit = t.items
    assert isinstance(commit, Commit)
    assert commit.transaction == xid
    assert before.reaches(commit.position)


def test_full_identity_tells_whole_old_rows(pg_db: Any, follow: Follow) -> None:
    pg_db.execute("CREATE TABLE t (id int, v text); ALTER TABLE t REPLICA IDENTITY FULL")
    t = follow("t")
    pg_db.execute("INSERT INTO t VALUES (1, 'a'), (1, 'a')")
    pg_db.execute("UPDATE t SET v = NULL WHERE ctid = '(0,1)'")
    pg_db.execute("DELETE FROM t WHERE v = 'a'")
    assert t.told() == [
        [("insert", "t", ("1", "a")), ("insert", "t", ("1", "a"))],
        [("update", "t", ("1", "a"), ("1", None))],
        [("delete", "t", ("1", "a"))],
    ]


def test_an_index_as_identity(pg_db: Any, follow: Follow) -> None:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b int NOT NULL, UNIQUE (b, a))")
    pg_db.execute("ALTER TABLE t REPLICA IDENTITY USING INDEX t_b_a_key")
    t = follow("t")
    pg_db.execute("INSERT INTO t VALUES (1, 2, 3)")
    pg_db.execute("UPDATE t SET a = 4")
    pg_db.execute("DELETE FROM t")
    assert t.told()[1:] == [
        [("update", "t", (KEPT, "2", "3"), ("1", "4", "3"))],
        [("delete", "t", (KEPT, "4", "3"))],
    ]


@pytest.mark.parametrize("full", [False, True])
def test_large_values_that_did_not_change(pg_db: Any, follow: Follow, full: bool) -> None:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, large text, n int)")
    pg_db.execute("ALTER TABLE t ALTER large SET STORAGE EXTERNAL")
    if full:
        pg_db.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    large = "é" * 5000
    t = follow("t")
    pg_db.execute("INSERT INTO t VALUES (1, %s, 1)", large)
    pg_db.execute("UPDATE t SET n = 2")
    pg_db.execute("UPDATE t SET id = 2")
    pg_db.execute("UPDATE t SET large = large || 'x'")
    assert t.told() == [
        [("insert", "t", ("1", large, "1"))],
        [("update", "t", ("1", large, "1") if full else None, ("1", large if full else KEPT, "2"))],
        [("update", "t", ("1", large if full else KEPT, "2" if full else KEPT), ("2", large if full else KEPT, "2"))],
        [("update", "t", ("2", large, "2") if full else None, ("2", large + "x", "2"))],
    ]


def test_truncate(pg_db: Any, t: Followed, follow: Follow) -> None:
    pg_db.execute("CREATE TABLE u (id int PRIMARY KEY); CREATE TABLE other (id int)")
    both = follow("t", "u")
    pg_db.execute("BEGIN; INSERT INTO t VALUES (1, 'a'); TRUNCATE t, other, u; INSERT INTO u VALUES (1); COMMIT")
    assert t.told() == [[("insert", "t", ("1", "a")), ("emptied", "t")]]
    assert both.told() == [
        [("insert", "t", ("1", "a")), ("emptied", "t"), ("emptied", "u"), ("insert", "u", ("1",))],
    ]


def test_a_prepared_transaction_is_told_when_it_commits(t: Followed) -> None:
    t.database.execute("BEGIN; INSERT INTO t VALUES (1, 'a'); PREPARE TRANSACTION 'p'")
    t.database.execute("INSERT INTO t VALUES (2, 'b')")
    assert t.told() == [[("insert", "t", ("2", "b"))]]
    t.database.execute("COMMIT PREPARED 'p'")
    assert t.told() == [[("insert", "t", ("1", "a"))]]


def test_the_order_is_that_of_commits(t: Followed) -> None:
    with t.database.connect() as first, t.database.connect() as second:
        for connection, number in ((first, 1), (second, 2)):
            connection.autocommit = False
            connection.execute("INSERT INTO t VALUES (%s, 'a')", [number])
        first.execute("INSERT INTO t VALUES (3, 'a')")
        second.commit()
        # What is open lies in the log already, and is not told.
        assert t.told() == [[("insert", "t", ("2", "a"))]]
        first.commit()
    assert t.told() == [[("insert", "t", ("1", "a")), ("insert", "t", ("3", "a"))]]


def test_names_of_any_letters(pg_db: Any, follow: Follow) -> None:
    name = TableName('S "chema', 'T "a.ble é')
    pg_db.execute('CREATE SCHEMA "S ""chema"')
    pg_db.execute('CREATE TABLE "S ""chema"."T ""a.ble é" ("I\'d" int PRIMARY KEY, "V ""é" text)')
    t = follow(name, publication="P \"ub, 'x' é")
    pg_db.execute('INSERT INTO "S ""chema"."T ""a.ble é" VALUES (1, \'a\')')
    t.told()
    rows = t.items[1]
    assert isinstance(rows, Rows)
    assert rows.table.name == name
    assert rows.table.columns == ("I'd", 'V "é')


def test_a_partitioned_table_is_one_table(pg_db: Any, follow: Follow) -> None:
    pg_db.execute("""CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
        CREATE TABLE low (v text, id int NOT NULL); ALTER TABLE t ATTACH PARTITION low FOR VALUES FROM (0) TO (10);
        CREATE TABLE high PARTITION OF t FOR VALUES FROM (10) TO (20)""")
    t = follow("t")
    pg_db.execute("INSERT INTO t VALUES (1, 'a'), (11, 'b')")
    pg_db.execute("INSERT INTO low VALUES ('c', 2)")
    pg_db.execute("UPDATE t SET id = 12 WHERE id = 1")
    pg_db.execute("TRUNCATE t")
    assert t.told() == [
        [("insert", "t", ("1", "a")), ("insert", "t", ("11", "b"))],
        [("insert", "t", ("2", "c"))],
        [("delete", "t", ("1", KEPT)), ("insert", "t", ("12", "a"))],
        [("emptied", "t")],
    ]


def test_columns_that_are_added_and_dropped(t: Followed) -> None:
    t.database.execute("INSERT INTO t VALUES (1, 'a')")
    t.database.execute("INSERT INTO t VALUES (2, 'b')")
    t.database.execute("ALTER TABLE t ADD COLUMN w int DEFAULT 7, ADD COLUMN g int GENERATED ALWAYS AS (id) STORED")
    t.database.execute("INSERT INTO t VALUES (3, 'c')")
    t.database.execute("ALTER TABLE t DROP COLUMN v")
    t.database.execute("INSERT INTO t VALUES (4, 8)")
    t.told()
    first, second, wider, narrower = (item for item in t.items if isinstance(item, Rows))
    assert first.table is second.table
    assert [(rows.table.columns, rows.rows) for rows in (first, wider, narrower)] == [
        (("id", "v"), [("1", "a")]),
        (("id", "v", "w"), [("3", "c", "7")]),
        (("id", "w"), [("4", "8")]),
    ]


def test_values_are_told_as_they_print(pg_db: Any, follow: Follow) -> None:
    pg_db.execute(PREPARED)
    declared = ", ".join(f"c{place} {kind}" for place, kind in enumerate(COLUMNS))
    pg_db.execute(f"CREATE TABLE t (id int PRIMARY KEY, {declared})")
    t = follow("t")
    for number in range(max(map(len, COLUMNS.values())) + 1):
        # Behind its last value, a column is NULL.
        row = [(values + (None,) * 10)[number] for values in COLUMNS.values()]
        pg_db.execute(f"INSERT INTO t VALUES ({number}, {', '.join(['%s'] * len(row))})", *row)

    t.told()
    told = [image[1:] for item in t.items if isinstance(item, Rows) for image in item.rows]
    printed = ", ".join(
        f"CASE WHEN c{place} IS NOT NULL THEN format('%s', c{place}) END" for place in range(len(COLUMNS))
    )
    cast = ", ".join(f"c{place}::text" for place in range(len(COLUMNS)))
    with connect(t.log.url, "test") as ours:
        prints = ours.execute(f"SELECT {printed} FROM public.t ORDER BY id").fetchall()
        casts = ours.execute(f"SELECT {cast} FROM public.t ORDER BY id").fetchall()
    for place, kind in enumerate(COLUMNS):
        # A composite of NULLs is NULL to SQL's IS NULL.
        expected = [row[place] if kind != "pair" else text[place] for row, text in zip(prints, casts, strict=True)]
        assert [row[place] for row in told] == expected, kind
        if kind not in OTHER_AS_TEXT:
            assert [row[place] for row in told] == [row[place] for row in casts], kind


def test_a_database_of_another_encoding(pg_db: Any) -> None:
    name = f"{pg_db.name}_latin1"
    pg_db.server.execute(None, f"CREATE DATABASE {name} ENCODING LATIN1 LOCALE 'C' TEMPLATE template0")
    latin1 = type(pg_db)(pg_db.server, name)
    try:
        with following(latin1) as follow:
            latin1.execute("CREATE TABLE té (id int PRIMARY KEY, v text)")
            t = follow("té")
            latin1.execute("INSERT INTO té VALUES (1, 'ü')")
            assert t.told() == [[("insert", "té", ("1", "ü"))]]
    finally:
        pg_db.server.drop_database(name)


def test_two_databases_of_one_server_are_followed_apart(pg_db: Any, pg_db_b: Any, follow: Follow) -> None:
    for database in (pg_db, pg_db_b):
        database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    a, b = follow("t"), follow("t", database=pg_db_b)
    pg_db.execute("INSERT INTO t VALUES (1, 'a')")
    pg_db_b.execute("INSERT INTO t VALUES (2, 'b')")
    assert a.told() == [[("insert", "t", ("1", "a"))]]
    assert b.told() == [[("insert", "t", ("2", "b"))]]


# ------------------------------------------------------------------------------------------------ positions


@pytest.fixture
def busy(t: Followed) -> Followed:
    """Followed, with transactions of many shapes behind `at`; some commit records are long."""
    t.database.execute("CREATE TABLE other (id int)")
    with t.database.connect() as open_one, t.database.connect() as other:
        open_one.autocommit = False
        for number in range(8):
            open_one.execute("INSERT INTO t VALUES (%s, 'long')", [number])
            other.execute("INSERT INTO t VALUES (%s, 'short')", [100 + number])
            other.execute("INSERT INTO other VALUES (1)")
            other.execute(f"CREATE TABLE made_{number} (id int)")
            if number % 3 == 2:
                open_one.commit()
        open_one.rollback()
    return t


def records(followed: Followed) -> list[tuple[int, int]]:
    """Begin and end of the commit records that the slot tells of; BEGIN and COMMIT agree on them."""
    log, found, begun = followed.log, [], 0
    peek = "SELECT lsn, data FROM pg_logical_slot_peek_binary_changes(%s, NULL, NULL, %s, '1', %s, %s)"
    for place, data in followed.database.rows(peek, log.slot, "proto_version", "publication_names", log.publication):
        if data[:1] == b"B":
            begun = int.from_bytes(data[1:9], "big")
        if data[:1] == b"C":
            begins, ends = int.from_bytes(data[2:10], "big"), int.from_bytes(data[10:18], "big")
            assert begun == begins < ends == Position(place).offset
            found.append((begins, ends))
    return found


@pytest.mark.parametrize("reach", [0, 150, 8 << 20])
def test_reads_fit_together_wherever_they_are_cut(busy: Followed, reach: int) -> None:
    """However little of what lies before its beginning a read has sent to it at first."""
    busy.log = replace(busy.log, reach=reach)
    start, end = busy.at, busy.log.now()
    whole = busy.between(start, end)
    assert len(transactions(whole)) == len(records(busy)) == 10
    places = {start.offset, end.offset}
    for begins, ends in records(busy):
        places |= {begins, begins + 1, (begins + ends) // 2, ends - 1, ends}
    places |= set(random.Random(7).sample(range(start.offset, end.offset), 10))
    bounds = [lsn(place, end.log) for place in sorted(places) if start.offset <= place <= end.offset]

    assert [item for pair in pairwise(bounds) for item in busy.between(*pair)] == whole
    for bound in bounds:
        assert busy.between(start, bound) + busy.between(bound, end) == whole


def test_all_is_sent_when_a_transaction_began_too_early(busy: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only then: what is not confirmed yet is not sent again for each read."""
    end, asked = busy.log.now(), []
    (_, end_of_first), *_, (_, end_of_last_but_one), _ = records(busy)
    told = PostgresLog._decoded

    def counted(log: PostgresLog, decoder: Any, after: Position, upto: Position, low: int) -> Any:
        asked.append(low)
        return told(log, decoder, after, upto, low)

    monkeypatch.setattr(PostgresLog, "_decoded", counted)
    busy.log = replace(busy.log, reach=0)
    assert len(transactions(busy.between(lsn(end_of_first), end))) == 9  # of which one began before the first one
    assert asked == [end_of_first, 0]
    asked.clear()
    assert len(transactions(busy.between(lsn(end_of_last_but_one), end))) == 1
    assert len(asked) == 1


def test_a_commit_s_position_is_behind_it_and_before_the_next(busy: Followed) -> None:
    start, end = busy.at, busy.log.now()
    whole = busy.between(start, end)
    positions = commits(whole)
    assert positions == [lsn(ends, end.log) for _, ends in records(busy)]
    for number, position in enumerate(positions, 1):
        assert len(transactions(busy.between(start, position))) == number
        assert len(transactions(busy.between(position, end))) == len(positions) - number


def test_the_server_forgets_what_was_read_and_nothing_else(busy: Followed) -> None:
    """For positions inside of commit records, too: it has an opinion of its own of what lies before them."""
    end = busy.log.now()
    places = [place for begins, ends in records(busy) for place in (begins, begins + 8, ends - 1, ends)]
    expected = {place: commits(busy.between(lsn(place), end)) for place in places}
    for place in places:
        busy.log.confirm(lsn(place))
        assert slot.lag(busy.log.url, busy.log.slot).confirmed == lsn(place, end.log)
        assert [lsn(ends, end.log) for _, ends in records(busy)] == expected[place]


def commits(items: Sequence[LogItem]) -> list[Position]:
    return [item.position for item in items if isinstance(item, Commit)]


def test_ends_are_steps_through_the_log(busy: Followed) -> None:
    start = busy.at
    whole = busy.between(start, busy.log.now())
    for bytes_each in (500, 3000, 1 << 30):
        ends = busy.log.ends(start, bytes_each, 10_000)
        assert [item for pair in pairwise([start, *ends]) for item in busy.between(*pair)] == whole
        assert all(0 < b.offset - a.offset <= bytes_each for a, b in pairwise([start, *ends]))
    assert busy.log.ends(start, 1000, 2) == busy.log.ends(start, 1000, 10_000)[:2]
    assert busy.log.ends(lsn(busy.log.now().offset + (1 << 30)), 1000, 10) == []


def test_the_end_of_an_idle_log_stays(t: Followed) -> None:
    with t.database.connect() as open_one:
        open_one.autocommit = False
        open_one.execute("INSERT INTO t VALUES (1, 'a')")  # written, and flushed by nobody
        seen = [t.log.now() for _ in range(10)]
    assert len(set(seen)) <= 3, "the first call flushes, which is written to the log too"
    assert t.told() == []


def test_a_slot_moves_on_while_its_tables_are_idle(t: Followed) -> None:
    t.database.execute("CREATE TABLE other (id int)")
    before = slot.lag(t.log.url, t.log.slot)
    at = t.at
    for number in range(3):
        t.database.execute("INSERT INTO other SELECT generate_series(1, 1000)")
        t.database.execute("CHECKPOINT")
        ends = t.log.ends(at, 1 << 30, 10)
        assert len(ends) == 1, number
        assert t.between(at, ends[0]) == []
        t.log.confirm(ends[0])
        at = ends[0]
    after = slot.lag(t.log.url, t.log.slot)
    assert before.restart
    assert after.restart
    assert after.confirmed == at
    assert after.restart.offset > before.restart.offset + 100_000
    assert after.retained < at.offset - before.restart.offset
    assert (after.wal_status, after.active) == ("reserved", False)


def test_each_transaction_may_be_confirmed_while_the_rest_is_read(busy: Followed) -> None:
    end = busy.log.now()
    whole = busy.between(busy.at, end)
    read = []
    for item in busy.log.read(busy.at, end, busy.tables):
        read.append(item)
        if isinstance(item, Commit):
            busy.log.confirm(item.position)
            assert slot.lag(busy.log.url, busy.log.slot).confirmed == item.position
    assert only_told(read) == whole


def test_confirm_never_goes_back_and_not_beyond_the_end(t: Followed) -> None:
    t.database.execute("INSERT INTO t VALUES (1, 'a')")
    now = t.log.now()
    t.log.confirm(now)
    t.log.confirm(t.at)
    assert slot.lag(t.log.url, t.log.slot).confirmed == now
    with pytest.raises(LogLostError, match="the log ends at"):
        t.log.confirm(lsn(now.offset + (1 << 30)))
    assert slot.lag(t.log.url, t.log.slot).confirmed == now


# ------------------------------------------------------------------------------------------------ what goes wrong


def test_a_slot_in_use_is_waited_for(t: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    t.database.execute("INSERT INTO t VALUES (1, 'a')")
    upto = t.log.now()
    waits = waiter(monkeypatch)
    for use in (lambda: t.between(t.at, upto), lambda: t.log.confirm(upto), lambda: drop(t)):
        waits.clear()
        with in_use(t) as other, ThreadPoolExecutor(1) as pool:
            used = pool.submit(use)
            assert waits.wait(20)
            assert not used.done()
            other.close()
            used.result(20)
    with pytest.raises(LogLostError):
        slot.lag(t.log.url, t.log.slot)


def waiter(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when somebody found the slot in use."""
    waits, found_in_use = threading.Event(), slot._in_use

    def in_use(error: Exception) -> bool:
        if found := found_in_use(error):
            waits.set()
        return found

    monkeypatch.setattr(slot, "_in_use", in_use)
    return waits


def drop(t: Followed) -> None:
    slot.drop(t.log.url, t.log.slot, t.log.publication)


def test_a_slot_in_use_for_too_long(t: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot, "_SECONDS", 0.1)
    t.database.execute("INSERT INTO t VALUES (1, 'a')")
    with in_use(t), pytest.raises(BusyError, match="is active for PID") as caught:
        t.told()
    assert caught.value.transient


def test_a_slot_that_was_dropped(t: Followed) -> None:
    t.database.execute("INSERT INTO t VALUES (1, 'a')")
    upto = t.log.now()
    drop(t)
    drop(t)
    for use in (lambda: t.between(t.at, upto), lambda: t.log.confirm(upto), lambda: slot.lag(t.log.url, t.log.slot)):
        with pytest.raises(LogLostError, match=rf'"{t.log.slot}" does not exist .*start over'):
            use()


def test_a_publication_that_was_dropped(t: Followed) -> None:
    t.database.execute(f'DROP PUBLICATION "{t.log.publication}"')
    t.database.execute("INSERT INTO t VALUES (1, 'a')")
    with pytest.raises(LogLostError, match=r"publication .* does not exist .*start over"):
        t.told()


def test_a_slot_whose_log_was_removed(t: Followed) -> None:
    try:
        t.database.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
        t.database.execute("SELECT pg_reload_conf()")
        for number in range(4):
            t.database.execute("INSERT INTO t VALUES (%s, 'a')", number)
            t.database.execute("SELECT pg_switch_wal()")
        t.database.execute("CHECKPOINT")
        assert slot.lag(t.log.url, t.log.slot).wal_status == "lost"
        with pytest.raises(LogLostError, match="was removed"):
            t.told()
        with pytest.raises(LogLostError):
            t.log.confirm(t.log.now())
    finally:
        t.database.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
        t.database.execute("SELECT pg_reload_conf()")


def test_what_was_confirmed_or_is_not_written_yet_can_t_be_read(t: Followed) -> None:
    with pytest.raises(LogLostError, match="the log ends at"):
        t.between(t.at, lsn(t.at.offset + (1 << 40)))
    t.database.execute("INSERT INTO t VALUES (1, 'a')")
    t.log.confirm(t.log.now())
    with pytest.raises(LogLostError, match="starts at"):
        t.told()


def test_a_connection_that_is_lost(t: Followed) -> None:
    t.database.execute("INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 20000) g")
    reading = t.log.read(t.at, t.log.now(), t.tables)
    assert isinstance(next(reading), Begin)
    t.database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tieout log'")
    with pytest.raises(UnreachableError):
        list(reading)


def in_the_way(url: EndpointUrl) -> dict[str, str | None]:
    """What keeps a user from following, and what to do."""
    with connect(url, "a test") as connection:
        return {problem.message: problem.fix for problem in log_problems(connection, "not_there")}


def test_a_user_who_may_not_read_the_log(t: Followed) -> None:
    t.database.execute("CREATE ROLE reader LOGIN PASSWORD 'secret'")
    try:
        url = replace(t.log.url, user="reader", password="secret")
        assert in_the_way(t.log.url) == {}
        assert in_the_way(url)["user reader may not read the log"] == "ALTER ROLE reader REPLICATION"
        assert "user reader may not create a publication" in in_the_way(url)
        with pytest.raises(AccessError, match="REPLICATION"):
            list(PostgresLog(url, t.log.slot, t.log.publication).read(t.at, t.log.now(), t.tables))
        with pytest.raises(AccessError):
            slot.create(url, "another", "another", [table("t")])
    finally:
        t.database.execute("DROP ROLE reader")


def test_a_server_that_keeps_no_logical_log() -> None:
    server = start_postgres({"wal_level": "replica", "max_replication_slots": "0", "max_wal_senders": "0"})
    try:
        found = in_the_way(parse_url(server.url("postgres")))
    finally:
        server.stop()
    assert list(found) == ["wal_level is replica", "all 0 replication slots are in use"]


# ------------------------------------------------------------------------------------------------ slot and publication


def test_a_slot_is_created_once(t: Followed) -> None:
    t.database.execute("CREATE TABLE u (id int PRIMARY KEY)")
    t.database.execute("INSERT INTO t VALUES (1, 'a')")
    again = slot.create(t.log.url, t.log.slot, t.log.publication, [table("u")])
    assert again == t.at
    t.database.execute("INSERT INTO t VALUES (2, 'b')")
    t.database.execute("INSERT INTO u VALUES (3)")
    t.tables = frozenset({table("t"), table("u")})
    assert t.told() == [[("insert", "t", ("1", "a"))], [("insert", "u", ("3",))]]
    slot.create(t.log.url, t.log.slot, t.log.publication, [table("t"), table("u")])
    t.database.execute("INSERT INTO t VALUES (4, 'c')")
    assert t.told() == [[("insert", "t", ("4", "c"))]]


def test_a_slot_of_another_database_is_left_alone(t: Followed, pg_db_b: Any) -> None:
    pg_db_b.execute("CREATE TABLE t (id int PRIMARY KEY)")
    with pytest.raises(UsageError, match="another database"):
        slot.create(parse_url(pg_db_b.url), t.log.slot, "p", [table("t")])


def test_a_table_that_nobody_can_follow_is_not_published(pg_db: Any, follow: Follow) -> None:
    pg_db.execute("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
    with pytest.raises(UnsupportedError, match="REPLICA IDENTITY FULL"):
        follow("t")
    pg_db.execute("DELETE FROM t")  # published, it would be refused
    assert pg_db.rows("SELECT FROM pg_publication") == []


def test_partitions_with_another_identity_are_not_published(pg_db: Any, follow: Follow) -> None:
    pg_db.execute("""CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
        CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (10); ALTER TABLE t REPLICA IDENTITY FULL""")
    with pytest.raises(UnsupportedError, match="partitions"):
        follow("t")
    pg_db.execute("ALTER TABLE low REPLICA IDENTITY FULL")
    t = follow("t")
    pg_db.execute("INSERT INTO t VALUES (1, 'a'); DELETE FROM t")
    assert t.told() == [[("insert", "t", ("1", "a")), ("delete", "t", ("1", "a"))]]


def test_identities(pg_db: Any) -> None:
    pg_db.execute("""
        CREATE TABLE keyed (v text, b int, a int, PRIMARY KEY (a, b));
        CREATE TABLE keyless (v text);
        CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE);
        CREATE TABLE indexed (a int NOT NULL, b int NOT NULL, v text);
        CREATE UNIQUE INDEX by_b_a ON indexed (b, a) INCLUDE (v);
        ALTER TABLE indexed REPLICA IDENTITY USING INDEX by_b_a;
        CREATE TABLE "Full" (id int PRIMARY KEY, v text, g int GENERATED ALWAYS AS (id) STORED, gone int);
        ALTER TABLE "Full" REPLICA IDENTITY FULL; ALTER TABLE "Full" DROP COLUMN gone;
        CREATE TABLE nothing (id int PRIMARY KEY); ALTER TABLE nothing REPLICA IDENTITY NOTHING""")
    names = ["keyed", "keyless", "deferred", "indexed", "Full", "nothing", "missing"]
    with pg_db.connect() as connection:
        found = identities(connection, [table(name) for name in names])
    assert {table.name: one for table, one in found.items()} == {
        "keyed": ReplicaIdentity(IdentityKind.DEFAULT, ("a", "b")),
        "keyless": ReplicaIdentity(IdentityKind.DEFAULT, ()),
        "deferred": ReplicaIdentity(IdentityKind.DEFAULT, ()),
        "indexed": ReplicaIdentity(IdentityKind.INDEX, ("b", "a")),
        "Full": ReplicaIdentity(IdentityKind.FULL, ("id", "v")),
        "nothing": ReplicaIdentity(IdentityKind.NOTHING, ()),
    }


# ------------------------------------------------------------------------------------------------ size


def test_a_transaction_larger_than_what_is_held(t: Followed) -> None:
    t.database.execute("""BEGIN; INSERT INTO t SELECT g, repeat(md5(g::text), 256) FROM generate_series(1, 6400) g;
        INSERT INTO t SELECT -g, 'small' FROM generate_series(1, 10000) g; COMMIT""")
    reading = t.log.read(t.at, t.log.now(), t.tables)
    assert isinstance(next(reading), Begin)
    begin, most, rows = resident(), 0, 0
    for item in reading:
        most = max(most, resident())
        if isinstance(item, Rows):
            assert len(item.rows) <= 2_000
            rows += len(item.rows)
    assert rows == 16_400
    assert most - begin < 20 << 20, "50 MB are read"


def resident() -> int:
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_reader_that_stops_early_leaves_nothing_behind(t: Followed) -> None:
    t.database.execute("INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 20000) g")
    reading = t.log.read(t.at, t.log.now(), t.tables)
    assert isinstance(next(reading), Begin)
    assert not slot.lag(t.log.url, t.log.slot).active
    reading.close()  # type: ignore[attr-defined]
    assert len(t.told()) == 1
