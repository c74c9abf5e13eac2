"""Following MariaDB's binary log: changes, transactions, and the places between them."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import combinations
from typing import Any

import pytest

from tests.integration.binlog.following import Followed, changes_in
from tieout.connectors.mysql.binlog import server
from tieout.errors import ReadError, UnreachableError
from tieout.model.positions import Position
from tieout.model.row_changes import KEPT, Begin, Commit, Emptied, LogItem, Rows, Statement

FIFTY_MEGABYTES = (
    "CREATE TABLE big (id INT PRIMARY KEY, body VARCHAR(4000) CHARACTER SET latin1)",
    "INSERT INTO big SELECT seq, REPEAT(CHAR(65 + seq % 26), 4000) FROM seq_1_to_13000",
)


@pytest.fixture
def followed(mysql_db: Any) -> Followed:
    mysql_db.execute("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, word VARCHAR(20))")
    return Followed(mysql_db)


def run(followed: Followed, *statements: str) -> None:
    """Runs statements in one session."""
    with followed.database.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def replayed(items: list[LogItem]) -> dict[Any, Any]:
    """The rows that are left of a table that was empty, by key."""
    rows: dict[Any, Any] = {}
    for kind, before, row in changes_in(items):
        if kind != "INSERT":
            old = before if before is not None else row
            assert rows.pop(old[0]) == old
        if kind != "DELETE":
            assert row[0] not in rows
            rows[row[0]] = row
    return rows


def stored(followed: Followed, table: str = "t") -> dict[Any, Any]:
    return {row[0]: row for row in followed.database.rows(f"SELECT * FROM {table}")}


# -------------------------------------------------------------------------------------------------- changes


def test_a_table_is_as_the_log_describes_it(followed: Followed) -> None:
    run(
        followed,
        "INSERT INTO t VALUES (1, 'a')",
        "ALTER TABLE t ADD COLUMN n INT FIRST",
        "INSERT INTO t VALUES (5, 2, 'b')",
    )
    tables = [item.table for item in followed.items("t") if isinstance(item, Rows)]
    assert [table.name for table in tables] == [followed.table("t")] * 2
    assert [table.columns for table in tables] == [("id", "word"), ("n", "id", "word")]


def test_nulls_anywhere(followed: Followed) -> None:
    columns = (
        "INT",
        "VARCHAR(20)",
        "DECIMAL(9,3)",
        "DATETIME(3)",
        "TEXT",
        "DOUBLE",
        "BIT(9)",
        "ENUM('x', 'y')",
        "CHAR(3)",
    )
    values = (7, "seven", "-7.125", "2024-01-02 03:04:05.678", "t" * 300, 0.5, "101010101", "y", "abc")
    literals = [f"'{value}'" if isinstance(value, str) else str(value) for value in values]
    literals[6] = "b'101010101'"
    defined = ", ".join(f"c{place} {kind}" for place, kind in enumerate(columns))
    chosen = ", ".join(f"IF(seq & {1 << place}, NULL, {literal})" for place, literal in enumerate(literals))
    run(
        followed,
        f"CREATE TABLE wide (id INT PRIMARY KEY, {defined}, must BIGINT NOT NULL, name VARCHAR(9) NOT NULL)",
        f"INSERT INTO wide SELECT seq, {chosen}, -seq, 'end' FROM seq_0_to_511",
        "UPDATE wide SET must = 1, c0 = IF(c0 IS NULL, 7, NULL)",
    )
    expected = [
        (number, *(None if number & 1 << place else value for place, value in enumerate(values)), -number, "end")
        for number in range(512)
    ]
    flipped = [(row[0], None if row[1] else 7, *row[2:-2], 1, "end") for row in expected]
    changes = followed.changes("wide")
    assert [row for _, _, row in changes] == [*expected, *flipped]
    assert [before for _, before, _ in changes[512:]] == expected


def test_rows_and_statements_that_are_compressed(followed: Followed) -> None:
    run(followed, "SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10")
    try:
        run(
            followed,
            "CREATE TABLE long_name (id INT PRIMARY KEY, body TEXT) /* said at some length */",
            "INSERT INTO long_name VALUES (1, REPEAT('añ', 5000)), (2, NULL)",
            "UPDATE long_name SET body = REPEAT('b', 4000)",
            "DELETE FROM long_name",
        )
    finally:
        run(followed, "SET GLOBAL log_bin_compress = OFF")
    items = followed.items("long_name")
    assert isinstance(items[1], Statement)
    assert items[1].text.endswith("/* said at some length */")
    old, new = (1, "añ" * 5000), (1, "b" * 4000)
    assert changes_in(items)[::2] == [("INSERT", None, old), ("UPDATE", old, new), ("DELETE", None, new)]


def test_a_row_that_takes_several_packets(followed: Followed) -> None:
    ((before,),) = followed.database.rows("SELECT @@GLOBAL.max_allowed_packet")
    run(followed, "CREATE TABLE big (id INT, body LONGBLOB)", "SET GLOBAL max_allowed_packet = 67108864")
    try:
        run(followed, "INSERT INTO big VALUES (1, REPEAT('0123456789abcdef', 1100000)), (2, 'small')")
    finally:
        run(followed, f"SET GLOBAL max_allowed_packet = {before}")
    (_, _, big), (_, _, small) = followed.changes("big")
    assert big == (1, b"0123456789abcdef" * 1_100_000)
    assert small == (2, b"small")


def test_columns_that_the_log_leaves_out_are_kept(followed: Followed) -> None:
    run(
        followed,
        "INSERT INTO t VALUES (1, 'a')",
        "SET SESSION binlog_row_image = MINIMAL",
        "UPDATE t SET word = 'b'",
        "DELETE FROM t",
    )
    assert followed.changes("t")[1:] == [("UPDATE", (1, KEPT), (KEPT, "b")), ("DELETE", None, (1, KEPT))]


def test_generated_and_invisible_columns_are_columns(followed: Followed) -> None:
    run(
        followed,
        "CREATE TABLE g (id INT, twice INT AS (id * 2), thrice INT AS (id * 3) STORED, z INT INVISIBLE DEFAULT 9)",
        "INSERT INTO g (id) VALUES (1)",
    )
    assert followed.changes("g") == [("INSERT", None, (1, 2, 3, 9))]


# --------------------------------------------------------------------------------------------- transactions


def test_a_transaction_is_called_by_its_gtid(followed: Followed) -> None:
    run(followed, "INSERT INTO t VALUES (1, 'a')")
    ((gtids,),) = followed.database.rows("SELECT @@gtid_binlog_pos")
    begin, _, commit = followed.items("t")
    assert isinstance(begin, Begin)
    assert isinstance(commit, Commit)
    assert commit.transaction == begin.transaction
    assert commit.transaction in gtids.split(",")
    assert followed.begin.place < begin.position.place < commit.position.place == followed.log.now().place


def test_what_the_log_itself_takes_back_is_undone(followed: Followed) -> None:
    """With a temporary table, or one without transactions, a rollback is in the log behind what it takes back."""
    run(
        followed,
        *(
            "BEGIN",
            "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
            "CREATE TEMPORARY TABLE x (id INT)",
            "SAVEPOINT `one`",
        ),
        *(
            "UPDATE t SET word = 'changed' WHERE id < 3",
            "SAVEPOINT two",
            "DELETE FROM t WHERE id = 1",
            "ROLLBACK TO TWO",
        ),
        *(
            "UPDATE t SET id = 30 WHERE id = 3",
            "INSERT INTO t VALUES (4, 'd')",
            "ROLLBACK TO one",
            "INSERT INTO t VALUES (5, 'e')",
        ),
        *(
            "COMMIT",
            "BEGIN",
            "CREATE TEMPORARY TABLE y (id INT)",
            "DELETE FROM t",
            "INSERT INTO t VALUES (1, 'z')",
            "ROLLBACK",
        ),
    )
    items = followed.items("t")
    assert replayed(items) == stored(followed) == {1: (1, "a"), 2: (2, "b"), 3: (3, "c"), 5: (5, "e")}
    assert [type(item) for item in items].count(Commit) == 2
    assert len(changes_in(items)) > 5  # what was taken back had been told


def test_what_is_undone_is_read_in_parts(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tieout.connectors.mysql.binlog.rollbacks._PART", 10_000)
    run(
        followed,
        *("INSERT INTO t SELECT seq, 'a' FROM seq_1_to_3000", "BEGIN", "CREATE TEMPORARY TABLE x (id INT)"),
        *("UPDATE t SET word = 'b'", "UPDATE t SET word = 'c' WHERE id % 2", "DELETE FROM t WHERE id > 10", "ROLLBACK"),
    )
    assert replayed(followed.items("t")) == stored(followed)
    assert len(stored(followed)) == 3000


def test_a_transaction_larger_than_what_is_held(followed: Followed) -> None:
    run(followed, *FIFTY_MEGABYTES)
    upto = followed.log.now()
    assert upto.offset - followed.begin.offset > 50_000_000
    assert followed.log.ends(followed.begin, 1_000_000, 10)[-1].place == upto.place
    count = 0
    tracemalloc.start()
    try:
        for item in followed.log.read(followed.begin, upto, frozenset({followed.table("big")})):
            count += len(item.rows) if isinstance(item, Rows) else 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 13_000
    assert peak < 8_000_000


# ----------------------------------------------------------------------------------------------- statements


def test_ddl_is_a_statement_with_its_schema(followed: Followed) -> None:
    run(followed, "CREATE TABLE größe (id INT)", "DROP TABLE größe", "SET NAMES latin1", "CREATE TABLE hat (id INT)")
    items = followed.items("t")
    assert [item.text for item in items if isinstance(item, Statement)] == [
        "CREATE TABLE größe (id INT)",
        "DROP TABLE `größe` /* generated by server */",
        "CREATE TABLE hat (id INT)",
    ]
    assert {item.schema for item in items if isinstance(item, Statement)} == {followed.database.name}
    assert [type(item) for item in items] == [Begin, Statement, Commit] * 3


def test_a_table_made_from_rows_is_a_statement_and_its_rows(followed: Followed) -> None:
    run(followed, "CREATE TABLE copy AS SELECT 1 AS n")
    _, statement, rows, commit = followed.items("copy")
    assert isinstance(statement, Statement)
    assert isinstance(rows, Rows)
    assert isinstance(commit, Commit)
    assert rows.rows == [(1,)]


def test_an_alter_in_two_phases_is_told_once(followed: Followed) -> None:
    run(followed, "SET SESSION binlog_alter_two_phase = ON", "ALTER TABLE t ADD COLUMN n INT")
    assert [type(item) for item in followed.items("t")] == [Begin, Statement, Commit]


@pytest.mark.parametrize(
    "statement", ["TRUNCATE t", "truncate table `t`", "/* all */ TRUNCATE /* of */ TABLE {schema} . t"]
)
def test_truncate_empties_a_table(followed: Followed, statement: str) -> None:
    run(followed, "CREATE TABLE other (id INT)")
    followed.start()
    run(followed, "TRUNCATE other", statement.format(schema=followed.database.name))
    _, emptied, commit = followed.items("t")
    assert emptied == Emptied(followed.table("t"))
    assert isinstance(commit, Commit)


def test_truncate_of_a_name_that_the_client_wrote_in_latin1(followed: Followed) -> None:
    run(followed, "CREATE TABLE größe (id INT)")
    followed.start()
    with followed.database.connect() as connection, connection.cursor() as cursor:
        connection.set_character_set("latin1")
        cursor.execute("TRUNCATE größe")
    assert followed.items("größe")[1] == Emptied(followed.table("größe"))


# ------------------------------------------------------------------------------------------------ positions


def test_an_empty_range_needs_no_server(followed: Followed) -> None:
    nowhere = Followed(followed.database)
    nowhere.log = pickle.loads(pickle.dumps(followed.log))
    assert nowhere.log == followed.log
    assert nowhere.items("t", after=Position("bin.000001:4"), upto=Position("bin.000001:4@0-1-1")) == []


def test_the_end_of_the_log_has_the_gtids_of_its_place(followed: Followed) -> None:
    # The server can't tell the GTIDs of a place behind a row that is longer than max_allowed_packet.
    run(followed, "FLUSH BINARY LOGS", "SET SESSION gtid_domain_id = 3", "INSERT INTO t VALUES (1, 'a')")
    now = followed.log.now()
    ((gtids,),) = followed.database.rows("SELECT BINLOG_GTID_POS(%s, %s)", now.file, now.offset)
    assert sorted(now.gtids.split(",")) == sorted(gtids.split(","))
    assert any(gtid.startswith("3-1-") for gtid in gtids.split(","))


@pytest.mark.parametrize("commits", [3, 1_000], ids=["a few", "always"])
def test_the_end_of_the_log_while_others_commit(
    followed: Followed, commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(followed, "FLUSH BINARY LOGS")
    row, numbers = server._row, iter(range(commits))

    def disturbed(connection: Any, statement: str, *parameters: Any) -> Any:
        found = row(connection, statement, *parameters)
        if "gtid_binlog_pos" in statement and (number := next(numbers, None)) is not None:
            run(followed, f"INSERT INTO t VALUES ({number}, 'x')")
        return found

    monkeypatch.setattr(server, "_row", disturbed)
    now = followed.log.now()
    ((gtids,),) = followed.database.rows("SELECT BINLOG_GTID_POS(%s, %s)", now.file, now.offset)
    assert sorted(now.gtids.split(",")) == sorted(gtids.split(","))


def written_over_files_and_domains(followed: Followed) -> None:
    run(followed, "FLUSH BINARY LOGS", "SET SESSION gtid_domain_id = 11", "CREATE TABLE before_it (id INT)")
    followed.start()
    run(
        followed,
        *("INSERT INTO t VALUES (1, 'a'), (2, 'b')", "FLUSH BINARY LOGS", "UPDATE t SET word = 'c' WHERE id = 1"),
        *("SET SESSION gtid_domain_id = 7", "INSERT INTO t VALUES (3, 'd')", "SET SESSION gtid_domain_id = 0"),
        *(
            "CREATE TABLE u (id INT)",
            "FLUSH BINARY LOGS",
            "FLUSH BINARY LOGS",
            "TRUNCATE u",
            "DELETE FROM t WHERE id = 2",
        ),
        *("BEGIN", "INSERT INTO t VALUES (4, 'e')", "UPDATE t SET id = 40 WHERE id = 4", "COMMIT", "FLUSH BINARY LOGS"),
    )


def test_ranges_compose(followed: Followed) -> None:
    """From each transaction's end, and from the beginnings of files, to each other."""
    written_over_files_and_domains(followed)
    whole = followed.items("t")
    places = [followed.begin, *(item.position for item in whole if isinstance(item, Commit)), followed.log.now()]
    sizes = [
        (file, size) for file, size, *_ in followed.database.rows("SHOW BINARY LOGS") if file >= followed.begin.file
    ]
    places += [Position(f"{file}:{size}") for file, size in sizes[:-1]]
    places += [Position(f"{file}:4") for file, _ in sizes[1:]]
    places.sort(key=lambda position: position.place)
    for low, high in combinations(places, 2):
        expected = [
            item
            for transaction in transactions(whole)
            if low.place < transaction[-1].position.place <= high.place
            for item in transaction
        ]
        assert followed.items("t", after=low, upto=high) == expected, f"{low} to {high}"


def transactions(items: list[LogItem]) -> list[list[Any]]:
    found: list[list[Any]] = [[]]
    for item in items:
        assert isinstance(item, Begin) == (not found[-1])
        found[-1].append(item)
        if isinstance(item, Commit):
            found.append([])
    assert not found.pop()
    return found


def test_ends_in_small_steps_cover_all(followed: Followed) -> None:
    written_over_files_and_domains(followed)
    whole = followed.items("t", "u")
    ends = followed.log.ends(followed.begin, 1, 1_000)
    commits = [item.position.place for item in whole if isinstance(item, Commit)]
    assert set(commits) <= {end.place for end in ends}
    assert [end.place for end in ends] == sorted({end.place for end in ends})
    steps = zip([followed.begin, *ends], ends, strict=False)
    assert [item for low, high in steps for item in followed.items("t", "u", after=low, upto=high)] == whole
    for end in ends:
        ((gtids,),) = followed.database.rows("SELECT BINLOG_GTID_POS(%s, %s)", end.file, end.offset)
        assert sorted(end.gtids.split(",")) == sorted(gtids.split(","))


def test_ends_without_gtids_to_begin_with_have_all_of_them(followed: Followed) -> None:
    run(followed, "FLUSH BINARY LOGS")
    followed.start()
    run(followed, "SET SESSION gtid_domain_id = 7", "INSERT INTO t VALUES (3, 'd')")
    bare = Position(f"{followed.begin.file}:{followed.begin.offset}")
    assert followed.log.ends(bare, 1, 10) == followed.log.ends(followed.begin, 1, 10)


def test_ends_are_so_far_apart_and_so_many(followed: Followed) -> None:
    run(followed, *(f"INSERT INTO t VALUES ({number}, 'word')" for number in range(40)))
    now = followed.log.now()
    size = (now.offset - followed.begin.offset) // 8
    ends = followed.log.ends(followed.begin, size, 100)
    gaps = [high.offset - low.offset for low, high in zip([followed.begin, *ends], ends, strict=False)]
    assert all(size <= gap <= size * 1.2 for gap in gaps[:-1])
    assert ends[-1].place == now.place
    assert followed.log.ends(followed.begin, size, 3) == ends[:3]
    assert followed.log.ends(ends[2], size, 3) == ends[3:6]
    assert followed.log.ends(followed.begin, 1 << 30, 5) == [now]
    assert followed.log.ends(now, size, 5) == []


def test_following_over_rotations_never_stops_nor_repeats(followed: Followed) -> None:
    at, seen = followed.begin, []
    for number in range(3):
        run(followed, f"INSERT INTO t VALUES ({number}, 'a')", "FLUSH BINARY LOGS")
        while ends := followed.log.ends(at, 100, 2):
            for end in ends:
                assert end.place > at.place
                seen += changes_in(followed.items("t", after=at, upto=end))
                at = end
    assert [row for _, _, row in seen] == [(number, "a") for number in range(3)]
    assert at.place == followed.log.now().place


def test_two_readers_at_once(followed: Followed) -> None:
    run(followed, *FIFTY_MEGABYTES)  # more than a connection holds
    upto, table = followed.log.now(), frozenset({followed.table("big")})
    pairs = zip(
        followed.log.read(followed.begin, upto, table), followed.log.read(followed.begin, upto, table), strict=True
    )
    assert all(one == other for one, other in pairs)


def test_a_lost_connection_may_be_tried_again(followed: Followed) -> None:
    run(followed, *FIFTY_MEGABYTES)
    items = followed.log.read(followed.begin, followed.log.now(), frozenset({followed.table("big")}))
    next(items)
    for (thread,) in followed.database.rows(
        "SELECT id FROM information_schema.processlist WHERE command = 'Binlog Dump'"
    ):
        run(followed, f"KILL {thread}")
    with pytest.raises(UnreachableError) as lost:
        list(items)
    assert lost.value.transient


def test_a_place_inside_a_transaction_is_refused(followed: Followed) -> None:
    run(followed, "BEGIN", "INSERT INTO t VALUES (1, 'a')", "SAVEPOINT s", "INSERT INTO t VALUES (2, 'b')", "COMMIT")
    upto = followed.log.now()
    events = followed.database.rows(f"SHOW BINLOG EVENTS IN '{upto.file}' FROM {followed.begin.offset}")
    described, saved = (
        [Position(f"{upto.file}:{end}") for _, _, kind, _, end, _ in events if kind == wanted]
        for wanted in ("Table_map", "Query")
    )
    with pytest.raises(ReadError, match="did not describe"):
        followed.items("t", after=described[0])
    for inside in (described[1], saved[0]):
        with pytest.raises(ReadError, match="not the end of a transaction"):
            followed.items("t", upto=inside)
