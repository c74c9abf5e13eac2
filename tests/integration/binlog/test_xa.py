"""XA transactions, which the log has in two parts: what was prepared, and later how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.binlog.following import Followed, changes_in
from tests.servers.mariadb import prepare_xa, roll_back_prepared
from tieout.model.row_changes import Begin, Commit, Rows, Statement


@pytest.fixture
def followed(mysql_db: Any) -> Iterator[Followed]:
    mysql_db.execute("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, word VARCHAR(20))")
    mysql_db.execute("CREATE TABLE u (id INT NOT NULL PRIMARY KEY)")
    yield Followed(mysql_db)
    roll_back_prepared(mysql_db)


def run(followed: Followed, *statements: str) -> None:
    with followed.database.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def test_a_transaction_on_tables_that_nobody_follows(followed: Followed) -> None:
    """Prepared in one batch and committed in a later one."""
    prepare_xa(followed.database, "'a'", "INSERT INTO u VALUES (1)")
    prepare_xa(followed.database, "'b','branch',7", "INSERT INTO u VALUES (2)")
    prepared = followed.log.now()
    run(followed, "INSERT INTO t VALUES (1, 'x')", "XA COMMIT 'a'", "XA ROLLBACK 'b','branch',7")
    run(followed, "INSERT INTO t VALUES (2, 'y')")
    assert followed.items("t", upto=prepared) == []
    found = followed.items("t", after=prepared)
    assert changes_in(found) == [("INSERT", None, (1, "x")), ("INSERT", None, (2, "y"))]
    assert followed.items("t") == found


def test_what_was_prepared_counts_where_it_is_committed(followed: Followed) -> None:
    insert = "INSERT INTO t VALUES (1, 'a')", "INSERT INTO u VALUES (1)", "INSERT INTO t VALUES (2, 'b')"
    prepare_xa(followed.database, "'a'", *insert)
    prepared = followed.log.now()
    run(followed, "INSERT INTO t VALUES (3, 'c')")
    between = followed.log.now()
    run(followed, "XA COMMIT 'a'", "DELETE FROM t WHERE id = 1")
    assert followed.items("t", upto=prepared) == []
    expected = [("INSERT", None, (1, "a")), ("INSERT", None, (2, "b")), ("DELETE", None, (1, "a"))]
    for after in (followed.begin, prepared):
        assert followed.changes("t") == changes_in(followed.items("t", after=after))
    begin, *rows, commit, _, _, _ = found = followed.items("t", after=between)
    assert changes_in(found) == expected
    assert isinstance(begin, Begin)
    assert isinstance(commit, Commit)
    assert all(isinstance(item, Rows) for item in rows)
    assert begin.late, "it may be seen later than where the log has it"
    assert between.place <= begin.position.place < commit.position.place
    assert begin.transaction == commit.transaction


@pytest.mark.parametrize("held", [True, False], ids=["held", "read again"])
@pytest.mark.parametrize("rotations", [0, 2])
def test_the_first_part_is_far_away(
    followed: Followed, monkeypatch: pytest.MonkeyPatch, rotations: int, held: bool
) -> None:
    if not held:
        monkeypatch.setattr("tieout.connectors.mysql.binlog.xa._MOST_HELD", 0)
    prepare_xa(followed.database, "'a'", "INSERT INTO t SELECT seq, REPEAT('x', 20) FROM seq_1_to_2000")
    prepare_xa(followed.database, "'b'", "INSERT INTO t VALUES (5000, 'never')")
    for _ in range(rotations):
        run(followed, "FLUSH BINARY LOGS", "INSERT INTO u VALUES (0)", "DELETE FROM u")
    after = followed.log.now()
    run(followed, "XA ROLLBACK 'b'", "XA COMMIT 'a'")
    for found in (followed.changes("t"), changes_in(followed.items("t", after=after))):
        assert [row[0] for _, _, row in found] == list(range(1, 2001))


def test_a_name_that_was_used_before(followed: Followed) -> None:
    for number in (1, 2, 3):
        prepare_xa(followed.database, "'same'", f"INSERT INTO t VALUES ({number}, 'x')")
        if number < 3:
            run(followed, "XA ROLLBACK 'same'" if number == 1 else "XA COMMIT 'same'")
    after = followed.log.now()
    run(followed, "XA COMMIT 'same'")
    assert [row[0] for _, _, row in followed.changes("t")] == [2, 3]
    assert [row[0] for _, _, row in changes_in(followed.items("t", after=after))] == [3]


def test_batch_by_batch_with_some_always_open(followed: Followed) -> None:
    """Whatever batches it is read in, and whether by the same process or not, it is the same."""
    for number in range(6):
        prepare_xa(
            followed.database, f"'x{number}'", f"INSERT INTO {'t' if number % 2 else 'u'} (id) VALUES ({number})"
        )
        if number >= 2:
            run(followed, f"XA {'COMMIT' if number % 3 else 'ROLLBACK'} 'x{number - 2}'")
    run(followed, "XA COMMIT 'x4'", "XA COMMIT 'x5'")
    ends = followed.log.ends(followed.begin, 1, 100)
    assert len(ends) == 12
    whole = followed.changes("t", "u")
    batches = zip([followed.begin, *ends], ends, strict=False)
    found = [change for low, high in batches for change in changes_in(followed.items("t", "u", after=low, upto=high))]
    assert found == whole
    stored = [(row[0],) for row in followed.database.rows("SELECT id FROM t UNION SELECT id FROM u ORDER BY id")]
    assert sorted((row[0],) for _, _, row in whole) == stored


def test_a_prepared_part_that_took_something_back(followed: Followed) -> None:
    run(followed, "CREATE TABLE old (id INT) ENGINE = MyISAM")
    followed.start()
    take_back = ("SAVEPOINT s", "INSERT INTO t VALUES (2, 'gone')", "INSERT INTO old VALUES (1)", "ROLLBACK TO s")
    prepare_xa(followed.database, "'a'", "INSERT INTO t VALUES (1, 'a')", *take_back)
    after = followed.log.now()
    run(followed, "XA COMMIT 'a'", "INSERT INTO u VALUES (1)")
    for found in (followed.items("t", "u"), followed.items("t", "u", after=after)):
        stopped = [change for item in found if isinstance(item, Statement) for change in item.redefined]
        assert [change.table.name for change in stopped] == ["t"]
        assert "rolled back changes" in (stopped[0].reason or "")


def test_in_one_phase_it_is_a_transaction_like_others(followed: Followed) -> None:
    run(followed, "XA START 'a'", "INSERT INTO t VALUES (1, 'a')", "XA END 'a'", "XA COMMIT 'a' ONE PHASE")
    assert followed.changes("t") == [("INSERT", None, (1, "a"))]
    begin, *_, commit = followed.items("t")
    assert isinstance(begin, Begin)
    assert not begin.late
    assert isinstance(commit, Commit)
