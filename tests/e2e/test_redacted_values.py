"""--redact-values: no value of a row in any report, on any stream, or in the meta store; keys and hashes remain."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest

from tests.corruption import sqlite
from tieout import api
from tieout.report.check import write
from tieout.report.render import OutputFormat

SECRETS = ("Kq7-ours", "Kq7-theirs", "Kq7-loose")
FORMATS = ("text", "json", "ndjson", "csv", "junit", "html")


def assert_hidden(*texts: str) -> None:
    for text in (*texts, *stored()):
        assert "Kq7" not in text


def stored() -> list[str]:
    """All that is in the files of the meta store."""
    return [file.read_bytes().decode("latin-1") for file in Path(".tieout").iterdir()]


@pytest.fixture
def pair(sqlite_db):
    source, target = sqlite_db("source"), sqlite_db("target")
    for side in (source, target):
        side.execute("CREATE TABLE keyed (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE loose (v TEXT, n INTEGER)")
        side.execute("INSERT INTO keyed VALUES (4711, 'Kq7-ours'), (4712, 'same')")
    target.execute("UPDATE keyed SET v = 'Kq7-theirs' WHERE id = 4711")
    source.execute("INSERT INTO keyed VALUES (4713, 'Kq7-gone'); INSERT INTO loose VALUES ('Kq7-loose', 5)")
    return source, target


@pytest.fixture
def verify(pair, tieout):
    urls = ("--source", pair[0].url, "--target", pair[1].url)
    return lambda *words: tieout("verify", *urls, *words)


@pytest.mark.parametrize("output", FORMATS)
def test_a_verification(verify, output):
    ended = verify("--redact-values", "-o", output)
    assert ended.code == 1, ended.err
    assert_hidden(ended.out, ended.err)
    assert "4711" in ended.out
    if output == "json":
        found = json.loads(ended.out)
        (changed,) = [each for each in found["differences"] if each["kind"] == "changed"]
        (loose,) = [each for each in found["differences"] if each["table"].endswith("loose")]
        pair = changed["columns"]["v"]
        assert pair["source"].startswith("hash:")
        assert pair["source"] != pair["target"]
        assert loose["key"]["v"].startswith("hash:")
        assert "values of rows are redacted: a hash replaces each" in found["notes"]


def test_without_it_values_are_shown(verify):
    """Or the test above would prove nothing."""
    ended = verify("-o", "json")
    assert all(secret in ended.out for secret in SECRETS)
    assert any("Kq7-theirs" in text for text in stored())


def test_the_configuration_asks_for_it(pair, tieout):
    source, target = (side.url for side in pair)
    Path("tieout.yaml").write_text(
        f"redact_values: true\nendpoints: {{a: {{url: '{source}'}}, b: {{url: '{target}'}}}}\n"
        "tasks: {shop: {source: a, target: b}}\n"
    )
    for words in (("verify", "shop"), ("verify", "--source", "a", "--target", "b")):
        ended = tieout(*words, "-o", "json")
        assert ended.code == 1, ended.err
        assert_hidden(ended.out)
    assert "Kq7-theirs" in tieout("verify", "shop", "--no-redact-values", "-o", "json").out


def test_a_plan_would_keep_rows(pair, verify, tieout):
    assert verify("--redact-values", "--repair-sql", "fix.sql").code == 2
    assert not Path("fix.sql").exists()
    assert verify("--redact-values").code == 1
    refused = tieout("repair", "plan", "last")
    assert refused.code == 2
    assert "redacted values" in refused.err
    assert "--with-values" in refused.err
    assert_hidden(refused.err)

    assert tieout("repair", "plan", "last", "--with-values", "-o", "json").code == 3, (
        "what has no key can't be repaired"
    )
    applied = tieout("repair", "apply", "last", "-o", "json")
    assert (applied.code, json.loads(applied.out)["different"]) == (3, 0), applied.err
    assert "Kq7" not in applied.out
    rows = "SELECT * FROM keyed ORDER BY id"
    assert pair[1].rows(rows) == pair[0].rows(rows), "rows are read anew, and are as they were"


def test_what_a_repair_leaves_is_hidden_too(pair, verify, tieout):
    assert verify("--redact-values").code == 1
    tieout("repair", "plan", "last", "--with-values")
    pair[1].execute("UPDATE keyed SET v = 'Kq7-again' WHERE id = 4711")
    applied = tieout("repair", "apply", "last", "-o", "json")
    assert json.loads(applied.out)["different"] == 1
    assert "Kq7" not in applied.out + applied.err


def test_a_check(sqlite_db, spark, tieout):
    database = sqlite_db("shop")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT CHECK (length(v) < 9))")
    database.execute("CREATE INDEX by_v ON t (v)")
    database.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"v{n}") for n in range(4711, 4720)])
    sqlite.violated_check(database, "t", "id = 4711", {"v": "Kq7-far-too-long"})
    sqlite.stale_entry(database, "t", "by_v", "id = 4712", {"v": "Kq7-old"})
    words = ("check", database.url, "CHECK TABLE t", "--recheck-after", "0s", "-o", "json")
    ended = tieout(*words, "--redact-values")
    assert ended.code == 1, ended.err
    assert_hidden(ended.out, ended.err)
    found = json.loads(ended.out)["failures"]
    assert {each["failure"] for each in found} >= {"check_violation", "stale_index_entry"}
    assert {(each["primary_key"] or {}).get("id") for each in found} >= {"4711", "4712"}
    assert any(value.startswith("hash:") for each in found for value in each["details"].values())
    shown = tieout("failures", "list", "-o", "json")
    assert_hidden(shown.out)

    refused = tieout("repair", "plan", "last")
    assert refused.code == 2
    assert "redacted values" in refused.err
    assert "--no-redact-values" in refused.err

    report = api.check(database.url, "CHECK TABLE t", spark=spark, recheck_after=0.0, redact_values=True)
    for output in FORMATS[:-1]:
        written = StringIO()
        write(report, OutputFormat(output), written)
        assert "4711" in written.getvalue()
        assert_hidden(written.getvalue())
    again = json.loads(tieout("failures", "list", "-o", "json").out)
    known = {each["id"] for each in json.loads(shown.out)}
    assert {each["id"] for each in again} == known, "a failure is known again by what it is, not by what is shown"


class Killed(BaseException):
    """What no block catches, as the end of a process."""


def test_a_check_that_goes_on(sqlite_db, spark, tieout):
    database = sqlite_db("shop")
    for table in ("a", "b"):
        database.execute(f"CREATE TABLE {table} (v TEXT); CREATE INDEX by_{table} ON {table} (v)")
        database.execute(f"INSERT INTO {table} VALUES ('Kq7-old')")
        sqlite.stale_entry(database, table, f"by_{table}", "v = 'Kq7-old'", {"v": "Kq7-new"})

    def kill(progress):
        if progress.table == "main.b" and progress.stage != "schema":
            raise Killed

    def broken():
        listed = json.loads(tieout("failures", "list", "-o", "json").out)
        return {each["table"]: each["id"] for each in listed if each["failure"] == "stale_index_entry"}

    with pytest.raises(Killed):
        api.check(database.url, "CHECK TABLE a, b", spark=spark, listener=kill, recheck_after=0.0, redact_values=True)
    before = broken()
    assert before.keys() == {"main.a"}
    report = api.resume_check("last", database.url, spark=spark)
    assert broken() == {**before, "main.b": broken()["main.b"]}, "what was recorded before is not taken for another"
    assert_hidden(repr(report))


def test_what_was_changed_can_not_be_found_again_without_values(sqlite_db, tieout):
    database = sqlite_db("shop")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    ended = tieout("check", database.url, "CHECK TABLE t CHANGED", "--redact-values")
    assert ended.code == 2
    assert "--no-redact-values" in ended.err


def test_what_an_engine_quotes(pg_db, pg_db_b, tieout):
    for side in (pg_db, pg_db_b):
        side.execute("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'Kq7-no-number')")
    urls = ("--source", pg_db.url, "--target", pg_db_b.url)
    ended = tieout("verify", *urls, "--redact-values", "--expr", "v=v::int|v::int", "-o", "json")
    assert "invalid input syntax for type integer: ***" in ended.out + ended.err
    assert_hidden(ended.out, ended.err)


def test_what_a_function_of_users_raises(pg_db, pg_db_b, tieout):
    """Words of its own, without quotes, under any SQLSTATE: even one that is a value."""
    for side in (pg_db, pg_db_b):
        side.execute(
            "CREATE FUNCTION public.loud(t text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS "
            "$$ BEGIN RAISE EXCEPTION 'bad number % here', t; END $$;"
            "CREATE FUNCTION public.coded(t text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS "
            "$$ BEGIN RAISE EXCEPTION 'none' USING ERRCODE = upper(t); END $$;"
            "CREATE TABLE t (id int PRIMARY KEY, v text, w text); INSERT INTO t VALUES (1, 'Kq7-raised', 'zkq7z');"
            "ALTER TABLE t ADD CONSTRAINT c CHECK (public.loud(v)) NOT VALID;"
            "ALTER TABLE t ADD CONSTRAINT d CHECK (public.coded(w)) NOT VALID"
        )
    ended = tieout("check", pg_db.url, "CHECK TABLE t", "--redact-values", "-o", "json", "-v")
    assert ended.out.count("(the message is redacted)") >= 2, ended.out
    assert "ZKQ7Z" not in ended.out + "".join(stored())
    assert "Spark's log is suppressed" in ended.err
    assert_hidden(ended.out, ended.err)

    urls = ("--source", pg_db.url, "--target", pg_db_b.url)
    ended = tieout("verify", *urls, "--redact-values", "--where", "t=public.loud(v)", "-o", "json")
    assert "(the message is redacted)" in ended.out
    assert_hidden(ended.out, ended.err)


def test_what_a_server_says_in_its_own_language(pg_db, tieout):
    """What it quotes there, it does not quote in ' and "."""
    pg_db.execute(
        "CREATE FUNCTION public.loud(t text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION "
        "'syntaxe en entrée invalide pour le type integer : « % »', t USING ERRCODE = '22P02'; END $$;"
        "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'Kq7-cité');"
        "ALTER TABLE t ADD CONSTRAINT c CHECK (public.loud(v)) NOT VALID"
    )
    ended = tieout("check", pg_db.url, "CHECK TABLE t", "--redact-values", "-o", "json")
    assert "(the message is redacted)" in ended.out
    assert_hidden(ended.out, ended.err)


def test_what_spark_says(sqlite_db, tieout):
    source, target = sqlite_db("source"), sqlite_db("target")
    source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'Kq7-raised')")
    target.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    Path("tieout.yaml").write_text(
        f"redact_values: true\ntasks: {{shop: {{source: '{source.url}', target: '{target.url}', "
        "delivery: exactly-once, move: {}, "
        "tables: [{from: t, columns: {v: \"CAST(raise_error(concat('bad ', v)) AS STRING)\"}}]}}\n"
    )
    ended = tieout("run", "shop", "--until-caught-up")
    assert "[USER_RAISED_EXCEPTION] (the message is redacted)" in ended.err
    assert_hidden(ended.out, ended.err, tieout("status", "shop", "-o", "json").out)


@pytest.mark.parametrize("columns", ["", ", columns: {v: 'upper(v)'}"], ids=["as it is", "shaped by Spark"])
def test_what_the_target_says_to_executors(sqlite_db, tieout, columns):
    """Of a CHECK, SQLite tells the name, and without quotes: it stands for what another server tells of a row."""
    source, target = sqlite_db("source"), sqlite_db("target")
    source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'Kq7-raised')")
    target.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, CONSTRAINT "Kq7-raised" CHECK (length(v) < 3))')
    Path("tieout.yaml").write_text(
        f"redact_values: true\ntasks: {{shop: {{source: '{source.url}', target: '{target.url}', "
        f"delivery: exactly-once, move: {{}}, tables: [{{from: t{columns}}}]}}}}\n"
    )
    ended = tieout("run", "shop", "--until-caught-up", "-o", "json")
    assert "[SQLITE_CONSTRAINT_CHECK] CHECK constraint failed: ***" in ended.err
    assert_hidden(ended.out, ended.err, tieout("status", "shop", "-o", "json").out)
