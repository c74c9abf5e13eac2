"""Preflight of a move: every problem at once, each with its fix, and what the pair can give. Nothing is changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.ahead import Ahead, between, notes, only, prevents, weak_user
from tests.integration.moving.pairs import ACROSS, PAIRS, Moving
from tests.variants import later
from tieout import api
from tieout.cli.main import main
from tieout.config.urls import parse_url
from tieout.connectors.mysql.move.source import MySQLSource
from tieout.connectors.registry import open_endpoint, open_source, open_target
from tieout.errors import UnsupportedError
from tieout.model.moves import Consistency, Delivery
from tieout.model.preflight import TableState, TargetLevel
from tieout.model.requests import MoveRequest, TableRequest, VerifyRequest
from tieout.model.tables import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

# ------------------------------------------------------------------------------------------------------ what is given


@between(*PAIRS)
def test_what_the_pair_can_give(ahead: Ahead) -> None:
    ahead.source.execute("CREATE TABLE keyed (id INT PRIMARY KEY, a INT)")
    ahead.source.execute("CREATE TABLE loose (a INT)")
    if ahead.source.server.scheme == "postgresql":
        ahead.source.execute("ALTER TABLE loose REPLICA IDENTITY FULL")
    ahead.target.execute("CREATE TABLE loose (a INT)")
    found = ahead.look("keyed", "loose")
    assert (found.exit_code, prevents(found)) == (0, {})
    assert found.move is not None
    assert found.move.deliveries == tuple(Delivery)
    assert found.move.source_levels == found.move.consistencies == tuple(Consistency)
    assert (found.move.delivery, found.move.consistency) == (Delivery.EXACTLY_ONCE, Consistency.TRANSACTION)
    assert "delivery exactly-once: the strongest that the target can give" in found.move.reasons
    keyed, loose = found.move.tables
    assert (keyed.state, loose.state) == (TableState.MISSING, TableState.THERE)
    assert keyed.target_levels == tuple(TargetLevel)
    assert TargetLevel.UNIQUE_KEY not in loose.target_levels
    assert (keyed.target_level, loose.target_level) == (TargetLevel.TRANSACTION, TargetLevel.TRANSACTION)
    assert [table.source_table for table in found.tables] == [loose.source_table], "what is there can be verified"
    _nothing_was_made(ahead)
    found = ahead.look("keyed", "loose", delivery=Delivery.AT_LEAST_ONCE)
    assert found.move is not None
    assert [table.target_level for table in found.move.tables] == [TargetLevel.UNIQUE_KEY, TargetLevel.PRIMITIVE]
    assert "may arrive twice" in notes(found)


@between("mariadb-postgres")
def test_a_log_with_a_position_for_each_table_only(ahead: Ahead, monkeypatch: pytest.MonkeyPatch) -> None:
    """No connector has such a log yet; here a complete one declares that it gives no more."""
    monkeypatch.setattr(MySQLSource, "level", Consistency.TABLE)
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    found = ahead.look("t")
    assert (found.exit_code, prevents(found)) == (0, {})
    assert found.move is not None
    assert found.move.source_levels == found.move.consistencies == (Consistency.ROW, Consistency.TABLE)
    assert found.move.consistency is Consistency.TABLE
    assert "consistency table: the strongest that the source can give" in found.move.reasons
    found = ahead.look("t", consistency=Consistency.TRANSACTION)
    assert found.exit_code == 2
    only(prevents(found), "the source's log does not show which changes belong to one transaction")
    assert prevents(ahead.look("t", consistency=Consistency.ROW)) == {}


@between("postgres-mariadb", later("mariadb-postgres"))
def test_a_mover_was_killed_while_it_made_its_tables(ahead: Ahead) -> None:
    """MariaDB makes each of them for good: the next mover finds any number of them."""
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with closing(open_target(parse_url(ahead.target.url))) as target:
        target.prepare()
        records = ("last_rows", "chunks", "columns", "stopped", "tables", "versions", "lanes", "restarts")
        names = ("table_versions", "version", "not_found", *records)
        for name in (*names, "progress", "fence"):  # the one that is made last goes first
            assert prevents(ahead.look("t")) == {}
            kind = "VIEW" if name == "table_versions" else "TABLE"
            ahead.target.execute(f"DROP {kind} {target.progress.table(name)}")
            assert prevents(ahead.look("t")) == {}, f"{name} and those behind it are missing"
        assert target.tables_like("tieout_") == [], "all of them were dropped"
        target.prepare()
        assert target.progress.read("ahead") is None


def _nothing_was_made(ahead: Ahead) -> None:
    if ahead.source.server.scheme == "postgresql":
        assert ahead.source.rows("SELECT 1 FROM pg_publication") == []
    schemas = "SELECT 1 FROM information_schema.tables WHERE table_name LIKE 'tieout%%' AND table_schema = %s"
    schema = ahead.target.name if ahead.target.server.scheme == "mysql" else "_tieout"
    assert ahead.target.rows(schemas, schema) == []


# ------------------------------------------------------------------------------------------------------------ sources


@pytest.fixture
def log_settings(ahead: Ahead) -> Iterator[None]:
    names = ("binlog_format", "binlog_row_image", "binlog_row_metadata", "binlog_expire_logs_seconds")
    before = ahead.source.rows("SELECT " + ", ".join(f"@@GLOBAL.{name}" for name in names))[0]
    yield
    for name, value in zip(names, before, strict=True):
        ahead.source.execute(f"SET GLOBAL {name} = %s", value)


@between("mariadb-postgres")
def test_a_binary_log_that_does_not_tell_enough(ahead: Ahead, log_settings: None) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    ahead.source.execute("SET GLOBAL binlog_format = MIXED, binlog_row_image = MINIMAL")
    ahead.source.execute("SET GLOBAL binlog_row_metadata = NO_LOG, binlog_expire_logs_seconds = 5400")
    found = ahead.look("t")
    assert found.exit_code == 2
    only(prevents(found), "binlog_format is MIXED", "binlog_row_image is MINIMAL", "binlog_row_metadata is NO_LOG")
    assert "SET GLOBAL binlog_format = 'ROW'" in next(iter(prevents(found).values()))
    assert "the log is kept for 1.5 hours" in notes(found)


@between("mariadb-postgres")
def test_a_user_of_mariadb_who_may_not_enough(ahead: Ahead) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE hidden (id INT PRIMARY KEY)")
    urls = ahead.as_weak(ahead.source), ahead.target.url
    with weak_user(
        ahead.source,
        f"GRANT SELECT ON {ahead.source.name}.t TO weak",
        f"GRANT INSERT ON {ahead.source.name}.hidden TO weak",
    ):
        found = prevents(ahead.look("t", "hidden", urls=urls))
        only(found, "BINLOG MONITOR", "source " + f"{ahead.source.name}.hidden: ")
        assert "GRANT BINLOG MONITOR ON *.* TO 'weak'@'%'" in found.values()
        ahead.source.execute("GRANT BINLOG MONITOR ON *.* TO weak")
        found = prevents(ahead.look("t", urls=urls))
        only(found, "REPLICATION SLAVE")
        assert "GRANT REPLICATION SLAVE ON *.* TO 'weak'@'%'" in found.values()
        ahead.source.execute("GRANT REPLICATION SLAVE ON *.* TO weak")
        assert prevents(ahead.look("t", urls=urls)) == {}


@between("mariadb-postgres")
def test_a_source_that_watermarks_are_written_to(ahead: Ahead, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a server that does not tell where a snapshot lies in its log."""
    monkeypatch.setattr(MySQLSource, "_watermarks", True)
    source = ahead.source
    source.execute("CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE loose (a INT)")
    urls = ahead.as_weak(source), ahead.target.url
    with weak_user(
        source, "GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO weak", f"GRANT SELECT ON {source.name}.* TO weak"
    ):
        found = prevents(ahead.look("t", "loose", urls=urls))
        only(found, "the user lacks INSERT, UPDATE, CREATE, DROP on", f"{source.name}.loose: it has no key")
        source.execute(f"GRANT ALL ON {source.name}.* TO weak")
        assert prevents(ahead.look("t", urls=urls)) == {}
        source.execute("SET GLOBAL read_only = 1")
        try:
            only(prevents(ahead.look("t", urls=urls)), "--read-only option")
        finally:
            source.execute("SET GLOBAL read_only = 0")


@between("postgres-mariadb")
def test_tables_of_postgres_that_can_t_be_followed(ahead: Ahead) -> None:
    ahead.source.execute("CREATE UNLOGGED TABLE a (id int PRIMARY KEY)")
    ahead.source.execute("CREATE TABLE b (id int)")
    ahead.source.execute("CREATE TABLE c (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED)")
    ahead.source.execute("CREATE TABLE d (id int PRIMARY KEY); ALTER TABLE d REPLICA IDENTITY NOTHING")
    ahead.source.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '64MB'")
    ahead.source.execute("SELECT pg_reload_conf()")
    try:
        found = ahead.look("a", "b", "c", "d")
    finally:
        ahead.source.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
        ahead.source.execute("SELECT pg_reload_conf()")
    only(
        prevents(found),
        "public.a: it is unlogged",
        "public.b: public.b has no replica identity",
        "the target can't hold public.c.twice: the source generates it",
        "public.d: public.d has no replica identity",
    )
    assert "the server keeps only 64 MB of log" in notes(found)


@between("postgres-mariadb")
def test_a_user_of_postgres_who_may_not_enough(ahead: Ahead) -> None:
    ahead.source.execute("CREATE TABLE t (id int PRIMARY KEY)")
    urls = ahead.as_weak(ahead.source), ahead.target.url
    with weak_user(ahead.source):
        found = prevents(ahead.look("t", urls=urls))
        only(
            found,
            "user weak may not read the log",
            "user weak may not create a publication",
            "public.t: user weak may not read it",
            "public.t: only its owner may publish it",
        )
        assert f"GRANT CREATE ON DATABASE {ahead.source.name} TO weak" in found.values()
        ahead.source.execute("ALTER ROLE weak REPLICATION; ALTER TABLE t OWNER TO weak")
        ahead.source.execute(f"GRANT CREATE ON DATABASE {ahead.source.name} TO weak")
        assert prevents(ahead.look("t", urls=urls)) == {}


@between("postgres-mariadb")
def test_a_source_that_is_read_only(ahead: Ahead) -> None:
    ahead.source.execute("CREATE TABLE t (id int PRIMARY KEY)")
    ahead.source.execute(f"ALTER DATABASE {ahead.source.name} SET default_transaction_read_only = on")
    only(prevents(ahead.look("t")), "source : sessions are read-only")


# ------------------------------------------------------------------------------------------------------------ targets


@between("postgres-mariadb")
def test_what_a_mariadb_target_has_in_the_way(ahead: Ahead) -> None:
    source, target = ahead.source, ahead.target
    for table in ("a", "b", "c", "d", "e"):
        source.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, n int)")
    source.execute("CREATE TABLE f (id int PRIMARY KEY, place point)")
    target.execute("CREATE TABLE a (id INT PRIMARY KEY, n INT) ENGINE = MEMORY")
    target.execute("CREATE TABLE b (id INT PRIMARY KEY, n INT)")
    target.execute("CREATE TRIGGER ring BEFORE INSERT ON b FOR EACH ROW SET NEW.n = 7")
    target.execute("CREATE TABLE c (id INT PRIMARY KEY, n INT); INSERT INTO c VALUES (1, 1)")
    target.execute("CREATE TABLE d (id INT, n TINYINT, more INT NOT NULL)")
    target.execute("SET GLOBAL local_infile = 0")
    try:
        found = ahead.look("a", "b", "c", "d", "e", "f")
    finally:
        target.execute("SET GLOBAL local_infile = 1")
    only(
        prevents(found),
        f"target {target.name}.a: its storage engine is MEMORY, which may not keep what is written",
        f"target {target.name}.b: its trigger ring would run",
        f"target {target.name}.c: it already has rows, which do not belong to this task",
        "public.d does not fit into",
        "the target can't hold public.f.place",
    )
    assert "local_infile is off" in notes(found)
    found = ahead.look("a", "nope", "nothing.*")
    only(prevents(found), ".a: its storage engine", "neither side has a table nope")
    assert "no table matches nothing.*" in notes(found)


@between("postgres-mariadb")
def test_what_tables_without_transactions_can_give(ahead: Ahead) -> None:
    """It is found out for each table, and the weakest one decides for the task."""
    source, target = ahead.source, ahead.target
    for table in ("sound", "keyed", "loose"):
        key = "" if table == "loose" else " PRIMARY KEY"
        source.execute(f"CREATE TABLE {table} (id int{key}, n int)")
        if table != "sound":
            target.execute(f"CREATE TABLE {table} (id INT{key}, n INT) ENGINE = {'Aria' if key else 'MyISAM'}")
    source.execute("ALTER TABLE loose REPLICA IDENTITY FULL")
    found = ahead.look("sound", "keyed", "loose")
    assert (found.exit_code, prevents(found)) == (0, {})
    assert found.move is not None
    assert (found.move.delivery, found.move.consistency) == (Delivery.AT_LEAST_ONCE, Consistency.ROW)
    assert (found.move.deliveries, found.move.consistencies) == ((Delivery.AT_LEAST_ONCE,), (Consistency.ROW,))
    sound, keyed, loose = found.move.tables
    assert (sound.target_levels, keyed.target_level) == (tuple(TargetLevel), TargetLevel.UNIQUE_KEY)
    assert keyed.target_levels == (TargetLevel.PRIMITIVE, TargetLevel.UNIQUE_KEY)
    assert loose.target_levels == (TargetLevel.PRIMITIVE,)
    assert "rows may be missing while a batch is applied" in keyed.promise
    assert "each row is as the source had it" in sound.promise
    assert "its storage engine is Aria, which has no transactions" in notes(found)
    assert ahead.look("sound").move.delivery is Delivery.EXACTLY_ONCE  # type: ignore[union-attr]
    found = ahead.look("keyed", delivery=Delivery.EXACTLY_ONCE)
    only(prevents(found), "the target does not support exactly-once: it does not store the applied position")
    assert "delivery: at-least-once, or leave `delivery` out" in prevents(found).values()


@between("postgres-mariadb")
def test_tables_are_not_merged_into_one_without_transactions(ahead: Ahead) -> None:
    for number in (1, 2):
        ahead.source.execute(f"CREATE TABLE part_{number} (id int PRIMARY KEY)")
    ahead.target.execute("CREATE TABLE whole (part VARCHAR(9), id INT, PRIMARY KEY (part, id)) ENGINE = MyISAM")
    parts = [TableRequest(f"part_{number}", "whole", expressions={"part": ("_table", "")}) for number in (1, 2)]
    found = {line: fix for line, fix in prevents(ahead.look(*parts)).items() if line.startswith("target ")}
    only(found, *[f"public.part_{number}: several tables can't be merged into it" for number in (1, 2)])


@between("postgres-mariadb")
def test_a_user_who_may_only_write_to_the_applications_tables(ahead: Ahead, spark: SparkSession) -> None:
    """Progress and stages are in another database of the server, in the same transactions."""
    source, target, own = ahead.source, ahead.target, f"{ahead.target.name}_own"
    source.execute("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2)")
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    target.execute(f"CREATE DATABASE {own}")
    url = ahead.as_weak(target).replace(f"/{target.name}", f"/{own}")
    routed = TableRequest("t", f"{target.name}.t")
    grants = f"GRANT SELECT, INSERT, UPDATE, DELETE ON {target.name}.* TO weak", f"GRANT ALL ON {own}.* TO weak"
    try:
        with weak_user(target, *grants):
            found = ahead.look(routed, urls=(source.url, url))
            assert prevents(found) == {}
            assert found.move is not None
            assert found.move.delivery is Delivery.EXACTLY_ONCE
            request = MoveRequest("elsewhere", source.url, url, (routed,))
            meta = f"sqlite:///{ahead.directory}/elsewhere.db"
            api.run_move(request, spark=spark, meta=meta, until_caught_up=True)
            source.execute("UPDATE t SET n = 9 WHERE id = 2")
            api.run_move(request, spark=spark, meta=meta, until_caught_up=True)
            assert target.rows("SELECT id, n FROM t ORDER BY id") == [(1, 1), (2, 9)]
            assert target.rows(f"SHOW TABLES FROM {target.name}") == [("t",)]
            api.drop_move(request, meta)
            found = ahead.look(TableRequest("t", f"{target.name}.new"), urls=(source.url, url))
            only(prevents(found), "the user lacks CREATE, DROP, ALTER, INDEX on")
    finally:
        target.execute(f"DROP DATABASE {own}")


@between("mariadb-postgres")
def test_what_a_postgres_target_has_in_the_way(ahead: Ahead) -> None:
    source, target = ahead.source, ahead.target
    for table in ("a", "b", "c"):
        source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT)")
    target.execute("CREATE TABLE a (id int PRIMARY KEY, n int); INSERT INTO a VALUES (1)")
    target.execute("CREATE TABLE b (id int PRIMARY KEY, n int)")
    target.execute("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
    target.execute("CREATE TRIGGER ring BEFORE INSERT ON b FOR EACH ROW EXECUTE FUNCTION f()")
    only(prevents(ahead.look("a", "b", "c")), "public.a: it already has rows, which do not belong to this task")
    target.execute("ALTER TABLE b ENABLE ALWAYS TRIGGER ring")
    found = api.preflight(
        VerifyRequest(source.url, target.url),
        f"sqlite:///{ahead.directory}/meta.db",
        move=MoveRequest("ahead", source.url, target.url, (TableRequest("b"), TableRequest("c", "nowhere.c"))),
    )
    only(prevents(found), "public.b: its trigger ring would run", "schema nowhere does not exist")


@between("mariadb-postgres")
def test_a_user_who_may_not_write_to_postgres(ahead: Ahead) -> None:
    source, target = ahead.source, ahead.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE made (id INT PRIMARY KEY)")
    source.execute("CREATE TABLE child (id INT PRIMARY KEY REFERENCES made (id))")
    target.execute("CREATE TABLE t (id int PRIMARY KEY)")
    urls = source.url, ahead.as_weak(target)
    with weak_user(target):
        found = prevents(ahead.look("t", "made", "child", urls=urls))
        only(
            found,
            "may not create the schema _tieout",
            "may not create tables in the schema public",
            "public.t: user weak may not write to it",
            "public.child: its foreign keys would be checked",
        )
        assert "GRANT CREATE ON SCHEMA public TO weak" in found.values()
        target.execute(f"GRANT CREATE ON DATABASE {target.name} TO weak; GRANT CREATE ON SCHEMA public TO weak")
        target.execute("GRANT SELECT, INSERT, DELETE ON t TO weak")
        target.execute("GRANT SET ON PARAMETER session_replication_role TO weak")
        assert prevents(ahead.look("t", "made", "child", urls=urls)) == {}


@between("mariadb-mariadb")
def test_a_user_who_may_not_write_to_mariadb(ahead: Ahead) -> None:
    source, target = ahead.source, ahead.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    urls = source.url, ahead.as_weak(target)
    pattern = target.name.replace("_", "\\_")
    with weak_user(target, f"GRANT SELECT, INSERT ON `{pattern}`.* TO weak"):
        (words,) = prevents(ahead.look("t", urls=urls))
        assert f"the user lacks UPDATE, DELETE, CREATE, DROP, ALTER, INDEX on {target.name}" in words
        target.execute(f"GRANT ALL ON `{pattern}`.* TO weak")
        assert prevents(ahead.look("t", urls=urls)) == {}
        target.execute("SET GLOBAL read_only = 1")
        try:
            only(prevents(ahead.look("t", urls=urls)), "--read-only option")
        finally:
            target.execute("SET GLOBAL read_only = 0")


@between("mariadb-postgres")
def test_a_target_that_is_read_only(ahead: Ahead) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    ahead.target.execute(f"ALTER DATABASE {ahead.target.name} SET default_transaction_read_only = on")
    only(prevents(ahead.look("t")), "target : sessions are read-only")


# ---------------------------------------------------------------------------------------------------- run, and command


@pytest.mark.parametrize("moving", ["mariadb-mariadb"], indirect=True)
def test_run_refuses_with_the_same_words_and_touches_nothing(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY) ENGINE = MyISAM")
    moving.target.execute("CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1)")
    ahead = Ahead(moving.source, moving.target, moving.directory)
    with pytest.raises(UnsupportedError) as error:
        moving.asking("a", "b").run()
    for problem in ahead.look("a", "b").problems:
        assert problem.message in str(error.value)
        assert (problem.fix or "") in str(error.value)
    _nothing_was_made(ahead)
    moving.target.execute("TRUNCATE TABLE a")
    asked = moving.asking("a")
    asked.run()
    assert asked.run()["state"] == "caught up", "what it wrote itself is not in its way"


@between("mariadb-postgres")
def test_the_command(ahead: Ahead, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    monkeypatch.chdir(ahead.directory)
    monkeypatch.setenv("NO_COLOR", "1")
    task = f"{{source: '{ahead.source.url}', target: '{ahead.target.url}', tables: [t]"
    Path("tieout.yaml").write_text(f"tasks:\n  moved: {task}, move: {{}}}}\n  verified: {task}}}\n")
    run: Callable[..., int] = lambda *words: main(["preflight", *words])  # noqa: E731
    assert run("moved", "-o", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["ready"], told["problems"], told["tables"]) == ("preflight", True, [], [])
    assert told["move"]["delivery"] == "exactly-once"
    (table,) = told["move"]["tables"]
    assert (table["state"], table["key"], table["target_level"]) == ("missing", ["id"], "transaction")
    assert run("moved") == 0
    text = capsys.readouterr().out
    assert "ready: 1 table to move, exactly-once" in text
    assert f"{ahead.source.name}.t → public.t: will be created" in text
    assert run("verified", "-o", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["move"] is None
    assert told["problems"][0]["severity"] == "different"
    ahead.source.execute("ALTER TABLE t ENGINE = MyISAM")
    assert run("moved") == 2
    assert "its storage engine is MyISAM" in capsys.readouterr().out


@between("mariadb-postgres", "postgres-mariadb")
def test_columns_that_are_called_like_those_of_a_stage(ahead: Ahead) -> None:
    """MariaDB took the one for the other: rows were written with our numbers in them, and twice."""
    for side, table in ((ahead.source, "made"), (ahead.source, "there"), (ahead.target, "there")):
        side.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, _tieout_kind INT, _tieout_copies INT)")
    found = ahead.look("made", "there")
    only(prevents(found), "made._tieout_kind: Tieout's staging", "which exists: _tieout_kind: Tieout's staging")


@between(*ACROSS)
def test_what_no_table_can_be_called_and_a_table_without_columns(ahead: Ahead) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    schema = ahead.target.name if ahead.target.server.scheme == "mysql" else "public"
    found = prevents(ahead.look(TableRequest("t", f"{schema}.{'x' * 80}")))
    only(found, "names of at most 6")
    only(prevents(ahead.look(TableRequest("t", columns=()))), "no column of")
    only(prevents(ahead.look(TableRequest("t", exclude_columns=("id",)))), "no column of")
    _nothing_was_made(ahead)


@pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
def test_a_task_of_the_same_name_to_another_target(moving: Moving, pg_db_b: Database) -> None:
    """A replication slot is named after its task: the second mover would take the first one's log away."""
    moving.source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    moving.source.execute("INSERT INTO t VALUES (1, 1)")
    moving.run()
    moving.source.execute("INSERT INTO t VALUES (2, 2)")
    other = replace(moving, request=replace(moving.request, target=pg_db_b.url))
    request = VerifyRequest(other.request.source, other.request.target)
    found = api.preflight(request, moving.meta, move=other.request)
    assert any("this target does not know" in message for message in prevents(found))
    with pytest.raises(UnsupportedError, match="give this task another name"):
        other.run()
    assert pg_db_b.rows("SELECT 1 FROM pg_namespace WHERE nspname = '_tieout'") == []
    assert moving.run()["state"] == "caught up"
    assert moving.rows("t")[0] == moving.rows("t")[1]


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
def test_a_source_that_is_another_database(moving: Moving) -> None:
    """A wrong URL stops no table: the right one goes on."""
    moving.source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    moving = moving.asking()
    moving = replace(moving, request=replace(moving.request, tables=(TableRequest("*"),)))
    moving.run()
    server, name = moving.source.server, f"{moving.source.name}_other"
    server.create_database(name)
    try:
        server.execute(name, "CREATE TABLE u (id INT PRIMARY KEY)")
        other = replace(moving, request=replace(moving.request, source=server.url(name)))
        with pytest.raises(UnsupportedError, match="none of the tables is there that the task moves"):
            other.run()
    finally:
        server.drop_database(name)
    moving.source.execute("INSERT INTO t VALUES (1, 1)")
    assert moving.run()["state"] == "caught up"
    assert moving.rows("t")[0] == moving.rows("t")[1]


@pytest.mark.parametrize(
    ("ahead", "column", "word"),
    [
        ("mariadb-postgres", "b BIT(4)", r"bit\(4\)"),
        ("postgres-mariadb", "b BIT(4)", r"bit\(4\)"),
        later("postgres-postgres", "b BIT(4)", r"bit\(4\)"),
        ("mariadb-mariadb", "b INT AS (id + 1) STORED", r"int\(11\)"),
        later("postgres-postgres", "b INT GENERATED ALWAYS AS (id + 1) STORED", "integer"),
    ],
    indirect=["ahead"],
)
def test_a_column_that_can_not_be_renamed(ahead: Ahead, column: str, word: str, spark: SparkSession) -> None:
    """The table was created, refused, and left there."""
    ahead.source.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {column})")
    renamed = TableRequest("t", expressions={"c": ("b", "")})
    (line,) = prevents(ahead.look(renamed))
    words = line.partition(": ")[2]
    assert re.search(rf"t\.c: a transform can't compute {word}", words)
    request = MoveRequest("ahead", ahead.source.url, ahead.target.url, (renamed,))
    with pytest.raises(UnsupportedError) as refused:
        api.run_move(request, spark=spark, meta=f"sqlite:///{ahead.directory}/meta.db", until_caught_up=True)
    assert refused.value.message == words
    _nothing_was_made(ahead)


@between("mariadb-postgres", later("postgres-mariadb"))
def test_a_key_that_is_named_as_what_it_is(ahead: Ahead, spark: SparkSession) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT)")
    ahead.source.execute("INSERT INTO t VALUES (1, 2)")
    for asked in (
        TableRequest("t", expressions={"id": ("id", ""), "c": ("a * 2", "")}, exclude_columns=("a", "id")),
        TableRequest("t", expressions={"id": ("id", ""), "c": ("a * 2", "")}, columns=("a",)),
    ):
        request = MoveRequest("named", ahead.source.url, ahead.target.url, (asked,))
        meta = f"sqlite:///{ahead.directory}/meta.db"
        assert prevents(ahead.look(asked)) == {}
        api.run_move(request, spark=spark, meta=meta, until_caught_up=True)
        assert ahead.target.rows("SELECT id, c FROM t") == [(1, 4)]
        assert prevents(ahead.look(asked, task="named")) == {}
        api.drop_move(request, meta)
        ahead.target.execute("DROP TABLE t")


@between("mariadb-postgres")
def test_every_table_is_stopped(ahead: Ahead, spark: SparkSession) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT)")
    request = MoveRequest("stopped", ahead.source.url, ahead.target.url, (TableRequest("t"),))
    meta = f"sqlite:///{ahead.directory}/meta.db"
    api.run_move(request, spark=spark, meta=meta, until_caught_up=True)
    ahead.source.execute("ALTER TABLE t CHANGE a b VARCHAR(9)")
    for _ in range(2):
        with pytest.raises(UnsupportedError) as refused:
            api.run_move(request, spark=spark, meta=meta, until_caught_up=True)
    assert "every table of the task stopped is stopped: " in refused.value.message
    ((line, fix),) = prevents(ahead.look("t", task="stopped")).items()
    assert line.endswith(refused.value.message)
    assert fix == refused.value.hint
    api.restart_table(request, "t", meta)
    assert prevents(ahead.look("t", task="stopped")) == {}
    api.run_move(request, spark=spark, meta=meta, until_caught_up=True)
    api.drop_move(request, meta)


def test_a_table_that_is_gone_since_it_was_described(pg_db: Database) -> None:
    """Whoever reads it next says so."""
    pg_db.execute("CREATE TABLE gone (id INT PRIMARY KEY)")
    url = parse_url(pg_db.url)
    with closing(open_endpoint(url)) as endpoint:
        (table,) = endpoint.describe([TableName("public", "gone")])
    pg_db.execute("DROP TABLE gone")
    assert open_source(url).problems("a task", [table]) == []
