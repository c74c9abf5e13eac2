"""What a check found on MariaDB is repaired: corrupt, check, plan, apply, check again clean; and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import mariadb
from tests.corruption.mariadb.files import blind
from tests.integration.checking.repairing import Repairing, counts
from tieout.model.failures import CheckVerdict, Failure, FailureKind
from tieout.repair.quarantine import Quarantine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

CHECK = "INSPECT TABLE t"
T = "SELECT * FROM t USE INDEX () ORDER BY id"


pytestmark = pytest.mark.thorough


def test_entries_of_innodb(own: Database, spark: SparkSession, tmp_path: Path) -> None:
    own.execute("CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB")
    own.execute("""
        CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(20) NOT NULL,
          KEY i (v) COMMENT 'x, y', UNIQUE KEY other (s),
          CONSTRAINT fk FOREIGN KEY (v) REFERENCES p (id)) ENGINE=InnoDB""")
    own.execute("INSERT INTO p SELECT seq FROM seq_1_to_100")
    own.execute("INSERT INTO t SELECT seq, seq, CONCAT('s', seq) FROM seq_1_to_20")
    with blind(own, "t", "i"), blind(own, "t", "other"):
        own.execute("DELETE FROM t WHERE id = 7")
        own.execute("INSERT INTO t VALUES (21, 21, 's21'), (22, 22, 's22')")
        own.execute("UPDATE t SET v = 99 WHERE id = 8")
    before = own.rows(T)
    repairing = Repairing(own.url, tmp_path, spark)
    found = repairing.check(CHECK)
    assert len(found.failures) == 7, "twice missing and once dangling in both, once stale"
    gone = {each.where: each.id for each in repairing.plan(found.job).undecided}
    plan = repairing.plan(
        found.job,
        "missing_index_entry=create",
        f"{gone['i id=22']}=delete",
        f"{gone['other id=22']}=delete",
        "dangling_index_entry=restore",
    )
    (lost,) = plan.lost_rows
    assert (set(lost.indexes), lost.known) == ({"i", "other"}, {"id": "7", "v": "7", "s": "s7"})
    applied = repairing.apply()
    assert (counts(applied), applied.messages) == ({"done": 4}, ())
    assert repairing.check(CHECK).verdict is CheckVerdict.CLEAN
    expected = sorted([*(row for row in before if row[0] != 22), (7, 7, "s7")])
    assert own.rows(T) == expected
    assert "KEY `i` (`v`) COMMENT 'x, y'" in own.rows("SHOW CREATE TABLE t")[0][1]
    assert counts(repairing.undo()) == {"done": 2, "kept": 2}
    assert own.rows(T) == before


def test_an_index_whose_rebuild_was_cut_off(own: Database, tmp_path: Path) -> None:
    """Between the statements of a rebuild there is another index, or only the other one."""
    own.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY i (v)) ENGINE=InnoDB")
    repairing = Repairing(own.url, tmp_path)
    stale = Failure(
        FailureKind.STALE_INDEX_ENTRY, own.name, f"{own.name}.t", ("v",), index="i", primary_key={"id": "1"}
    )
    repairing.plan(repairing.told(stale))
    own.execute("ALTER TABLE t ADD KEY tieout_rebuilt (v)")
    assert counts(repairing.apply()) == {"done": 1}
    assert keys(own) == [("i",)]
    repairing.plan(repairing.told(stale))
    own.execute("ALTER TABLE t RENAME INDEX i TO tieout_rebuilt")
    assert counts(repairing.apply()) == {"done": 1}
    assert keys(own) == [("i",)]


def keys(database: Database) -> list[tuple[Any, ...]]:
    return database.rows(
        "SELECT index_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 't'"
        " AND index_name <> 'PRIMARY'"
    )


def test_entries_of_aria(own: Database, spark: SparkSession, tmp_path: Path) -> None:
    """It tells no place of an entry: whether one is still missing can't be looked at, so no row is deleted for it."""
    own.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT, s CHAR(20), KEY i (v), KEY other (s)) ENGINE=Aria")
    own.execute("INSERT INTO t SELECT seq, 10 * seq, CONCAT('s', seq) FROM seq_1_to_20")
    mariadb.stale_entry(own, "t", "i", "id = 7", {"v": 5, "s": "x"})
    before = own.rows(T)
    repairing = Repairing(own.url, tmp_path, spark)
    job = repairing.check(CHECK).job
    reasons = {each.reason for each in repairing.plan(job, "missing_index_entry=delete").undecided}
    assert any("can't recheck whether it is still missing" in reason for reason in reasons)
    plan = repairing.plan(job, "missing_index_entry=create", "dangling_index_entry=quarantine")
    assert [(change.action, change.what) for change in plan.changes] == [("rebuild", "i, other")]
    assert counts(repairing.apply()) == {"done": 1}
    assert repairing.check(CHECK).verdict is CheckVerdict.CLEAN
    assert own.rows(T) == before
    kept = own.rows("SELECT row_values FROM tieout_quarantine ORDER BY part")
    assert sorted(kept) == [('{"s": "s7"}',), ('{"v": "70"}',)]


TABLES = """
CREATE TABLE parents (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, note VARCHAR(20) DEFAULT 'none');
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, p INT DEFAULT 1, q INT, u VARCHAR(20), n VARCHAR(20),
  twice INT AS (q * 2) STORED, at TIMESTAMP DEFAULT '2001-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP,
  CONSTRAINT fk FOREIGN KEY (p) REFERENCES parents (id), CONSTRAINT positive CHECK (q > 0));
CREATE TABLE files (id INT PRIMARY KEY, v INT, CONSTRAINT small CHECK (v < 10)) ENGINE=MyISAM;
INSERT INTO parents VALUES (1, 'one', NULL);
INSERT INTO t (id, p, q, u, n) SELECT seq, 1, seq, CONCAT('u', seq), 'x' FROM seq_1_to_8;
INSERT INTO files VALUES (1, 1), (2, 2), (3, 3)"""


def violation(table: str, kind: str, constraint: str | None, column: str, row: int, value: str | None) -> Failure:
    return Failure(
        FailureKind(kind),
        table.partition(".")[0],
        table,
        (column,),
        constraint=constraint,
        primary_key={"id": str(row)},
        place=str(row),
        details={column: value},
    )


def test_violated_constraints(own: Database, tmp_path: Path) -> None:
    for statement in TABLES.split(";"):
        own.execute(statement)
    mariadb.wrong_reference(own, "t", "id = 1", {"p": 77})
    mariadb.wrong_reference(own, "t", "id = 2", {"p": 88})
    mariadb.wrong_reference(own, "t", "id = 3", {"p": 99})
    mariadb.violated_check(own, "t", "id = 4", {"q": -4})
    mariadb.wrong_generated_value(own, "t", "twice", "id = 6", 99)
    mariadb.violated_check(own, "files", "id = 2", {"v": 20})
    mariadb.violated_check(own, "files", "id = 3", {"v": 30})
    everything = "SELECT * FROM t ORDER BY id"
    before, files = own.rows(everything), own.rows("SELECT * FROM files")
    repairing, t = Repairing(own.url, tmp_path), f"{own.name}.t"
    job = repairing.told(
        violation(t, "foreign_key_violation", "fk", "p", 1, "77"),
        violation(t, "foreign_key_violation", "fk", "p", 2, "88"),
        violation(t, "foreign_key_violation", "fk", "p", 3, "99"),
        violation(t, "check_violation", "positive", "q", 4, "-4"),
        violation(t, "wrong_generated_value", None, "twice", 6, "99"),
        violation(f"{own.name}.files", "check_violation", "small", "v", 2, "20"),
        violation(f"{own.name}.files", "check_violation", "small", "v", 3, "30"),
        Failure(FailureKind.SEQUENCE_BEHIND, own.name, t, ("id",)),
    )
    first, second, _ = repairing.ids(job)["foreign_key_violation"]
    one = repairing.ids(job)["check_violation"][1]
    choices = (
        "foreign_key_violation=set_default",
        f"{first}=set_null",
        f"{second}=insert_parent",
        "check_violation=set_null",
        f"{one}=delete",
    )
    own.execute("CREATE TRIGGER on_parents BEFORE INSERT ON parents FOR EACH ROW SET @seen = 1")
    own.execute("CREATE TRIGGER on_t BEFORE DELETE ON t FOR EACH ROW SET @seen = 1")
    plan = repairing.plan(job, *choices, **{"parents.name": "new"})
    assert {(each.failure, each.reason.partition(" that")[0]) for each in plan.left} == {
        ("foreign_key_violation", f"{own.name}.parents has a trigger on_parents (INSERT)"),
        ("wrong_generated_value", f"{t} has a trigger on_t (DELETE)"),
    }, "a row is deleted and inserted again to be computed anew"
    own.execute("DROP TRIGGER on_parents")
    own.execute("DROP TRIGGER on_t")
    plan = repairing.plan(job, *choices, **{"parents.name": "new"})
    assert (plan.undecided, plan.left) == ((), ())
    applied = repairing.apply()
    assert (counts(applied), applied.messages) == ({"done": 8}, ())
    changed = {row[0]: row[1:6] for row in own.rows(everything)}
    assert changed[1] == (None, 1, "u1", "x", 2)
    assert changed[2] == (88, 2, "u2", "x", 4)
    assert changed[3] == (1, 3, "u3", "x", 6)
    assert changed[4] == (1, None, "u4", "x", None)
    assert changed[6] == (1, 6, "u6", "x", 12)
    assert own.rows("SELECT * FROM files") == [(1, 1), (3, None)]
    assert own.rows("SELECT * FROM parents WHERE id = 88") == [(88, "new", "none")]

    own.execute("INSERT INTO t (id, p, q, u, n) VALUES (50, 88, 1, 'later', 'x')")
    undone = repairing.undo()
    assert counts(undone) == {"done": 5, "skipped": 1, "kept": 2}
    assert f"1 row of {t} would lose what it refers to: id=50" in "\n".join(undone.messages)
    own.execute("DELETE FROM t WHERE id = 50")
    undone = repairing.undo()
    assert counts(undone) == {"done": 6, "kept": 2}
    assert sorted(own.rows("SELECT * FROM files")) == sorted(files)
    assert own.rows("SELECT id FROM parents") == [(1,)]
    after = own.rows(everything)
    assert [row[:5] for row in after] == [row[:5] for row in before]
    assert [row for row in after if row[0] != 6] == [row for row in before if row[0] != 6]


def test_a_table_without_transactions_when_a_change_is_cut_off(
    own: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row was copied before it was changed; what is found then tells that it was changed."""
    own.execute("CREATE TABLE files (id INT PRIMARY KEY, v INT, CONSTRAINT small CHECK (v < 10)) ENGINE=MyISAM")
    own.execute("INSERT INTO files VALUES (1, 1), (2, 2), (3, 3)")
    mariadb.violated_check(own, "files", "id = 2", {"v": 20})
    mariadb.violated_check(own, "files", "id = 3", {"v": 30})
    before = own.rows("SELECT * FROM files ORDER BY id")
    repairing = Repairing(own.url, tmp_path)
    job = repairing.told(*(violation(f"{own.name}.files", "check_violation", "small", "v", n, f"{n}0") for n in (2, 3)))
    (first, second) = repairing.ids(job)["check_violation"]
    repairing.plan(job, f"{first}=delete", f"{second}=replace", v="3")
    set_left, at = Quarantine.set_left, {"deleting": True}

    def interrupted(self: Quarantine, change: int, left: object) -> None:
        """The deleted row's at first, then that of the row that was replaced."""
        if (left is None) is at["deleting"]:
            raise KeyboardInterrupt
        set_left(self, change, left)  # type: ignore[arg-type]

    monkeypatch.setattr(Quarantine, "set_left", interrupted)
    for rows in ([(1, 1), (3, 30)], [(1, 1), (3, 3)]):
        with pytest.raises(KeyboardInterrupt):
            repairing.apply()
        assert own.rows("SELECT * FROM files ORDER BY id") == rows
        at["deleting"] = False
    monkeypatch.undo()
    assert counts(repairing.apply()) == {"done": 2}
    assert own.rows("SELECT * FROM files ORDER BY id") == [(1, 1), (3, 3)]
    assert counts(repairing.undo()) == {"done": 2}
    assert own.rows("SELECT * FROM files ORDER BY id") == before
