"""Files of statements, run by the engines' own programs, in sessions that are not as ours are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.checking.repairing import Repairing
from tests.integration.repairing import Pair
from tieout.model.failures import Failure, FailureKind

if TYPE_CHECKING:
    from tests.servers.server import Database

HARD = "it's \\ a \"quote\" of ü, \\' and '); DROP TABLE orders; --"
"""What a server takes for something else if a backslash escapes."""

_SETTING = re.compile(r"(SET|PRAGMA|START TRANSACTION|BEGIN)\b")


def psql(database: Database, text: str) -> str:
    server = database.server
    command = ["psql", "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-h", server.host, "-p", str(server.port)]
    return _run([*command, "-U", server.user, database.name], text, {"PGPASSWORD": server.password})


def mariadb(database: Database, text: str) -> str:
    """Backslashes escape, the time zone is another, and text is said to be in Latin-1."""
    server = database.server
    command = [shutil.which("mariadb") or "mysql", "--no-defaults", "-h", server.host, "-P", str(server.port)]
    session = "SET SESSION sql_mode = '', time_zone = '+05:00', NAMES latin1"
    return _run(
        [*command, "-u", server.user, f"--init-command={session}", "-N", "-B", database.name],
        text,
        {"MYSQL_PWD": server.password},
    )


def _run(command: list[str], text: str, environment: dict[str, str]) -> str:
    ended = subprocess.run(
        command, input=text, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def first_statements(text: str) -> list[str]:
    """Those before the first that is no setting of the session."""
    statements = [line for line in text.splitlines() if line and not line.startswith("--")]
    first = next(number for number, line in enumerate(statements) if not _SETTING.match(line))
    return statements[:first]


def dangling(database: Database, table: str) -> Failure:
    return Failure(
        FailureKind.DANGLING_INDEX_ENTRY, database.name, table, ("v",), "by_v", place="(0,9)", details={"entry.v": HARD}
    )


class TestPostgreSQL:
    @pytest.fixture
    def db(self, pg_db: Database) -> Database:
        """Its sessions begin with settings of its own."""
        name = pg_db.name
        pg_db.execute(f'ALTER DATABASE "{name}" SET standard_conforming_strings = off')
        pg_db.execute(f"ALTER DATABASE \"{name}\" SET DateStyle = 'SQL, DMY'")
        pg_db.execute(f'ALTER DATABASE "{name}" SET search_path = public, pg_catalog')
        return pg_db

    def test_values_stay_what_they_are(self, db: Database, tmp_path: Path) -> None:
        db.execute("CREATE TABLE orders (id int PRIMARY KEY, v text); CREATE INDEX by_v ON orders (v)")
        repairing = Repairing(db.url, tmp_path)
        job = repairing.told(dangling(db, "public.orders"))
        repairing.plan(job, "dangling_index_entry=quarantine")
        file = repairing.sql()
        told = psql(db, file + "SHOW standard_conforming_strings;\n")
        ((values,),) = db.rows("SELECT row_values FROM tieout_quarantine WHERE what = 'entry'")
        assert json.loads(values) == {"v": HARD}
        settings = " ".join(first_statements(file))
        for name in ("client_encoding", "standard_conforming_strings", "TimeZone", "DateStyle", "search_path"):
            assert f"SET {name}" in settings
        assert told == "off\n", "the session is as it began"

    def test_no_function_of_another_s_is_called(self, db: Database, tmp_path: Path) -> None:
        """Who may create a function in a schema of the path would have it run by whoever runs the file."""
        db.execute("CREATE TABLE orders (id serial PRIMARY KEY, v text); CREATE TABLE taken (who text)")
        db.execute("INSERT INTO orders (id, v) VALUES (41, 'x')")
        for argument in ("text", "regclass"):
            db.execute(
                f"CREATE FUNCTION public.setval({argument}, bigint) RETURNS bigint LANGUAGE sql AS "
                "$$ INSERT INTO public.taken VALUES (current_user) RETURNING 1::bigint $$"
            )
        repairing = Repairing(db.url, tmp_path)
        job = repairing.told(Failure(FailureKind.SEQUENCE_BEHIND, db.name, "public.orders", ("id",)))
        repairing.plan(job, "sequence_behind=advance")
        file = repairing.sql()
        assert "setval" in file
        psql(db, file)
        assert db.rows("SELECT * FROM taken") == []
        assert db.rows("SELECT last_value FROM orders_id_seq") == [(41,)]

    def test_a_verification_s(self, pg_db_b: Database, db: Database, tmp_path: Path) -> None:
        pair = Pair.of(pg_db_b, db, tmp_path)
        pair.both("CREATE TABLE orders (id int PRIMARY KEY, v text, d date)")
        pg_db_b.executemany("INSERT INTO orders VALUES (%s, %s, %s)", [(1, HARD, "2024-02-03")])
        pair.compare("orders")
        pair.plan()
        psql(db, pair.statements())
        assert db.rows("SELECT id, v, d::text FROM orders") == [(1, HARD, "03/02/2024")]


class TestMariaDB:
    def test_values_stay_what_they_are(self, mysql_db: Database, tmp_path: Path) -> None:
        mysql_db.execute("CREATE TABLE orders (id int PRIMARY KEY, v varchar(200), KEY by_v (v))")
        repairing = Repairing(mysql_db.url, tmp_path)
        job = repairing.told(dangling(mysql_db, f"{mysql_db.name}.orders"))
        repairing.plan(job, "dangling_index_entry=quarantine")
        file = repairing.sql()
        told = mariadb(mysql_db, file + "SELECT CONCAT_WS(' ', @@sql_mode, @@time_zone, @@character_set_client);\n")
        ((values,),) = mysql_db.rows("SELECT row_values FROM tieout_quarantine WHERE what = 'entry'")
        assert json.loads(values) == {"v": HARD}
        settings = " ".join(first_statements(file))
        assert "SET NAMES utf8mb4" in settings
        assert "NO_BACKSLASH_ESCAPES" in settings
        assert told.splitlines()[-1].split() == ["+05:00", "latin1"], "the session is as it was found"

    def test_a_verification_s(self, mysql_db: Database, mysql_db_b: Database, tmp_path: Path) -> None:
        pair = Pair.of(mysql_db, mysql_db_b, tmp_path)
        pair.both("CREATE TABLE orders (id int PRIMARY KEY, v varchar(200) CHARACTER SET utf8mb4, t timestamp NULL)")
        mysql_db.executemany("INSERT INTO orders VALUES (%s, %s, '2024-02-03 04:05:06')", [(1, HARD)])
        pair.compare("orders")
        pair.plan()
        mariadb(mysql_db_b, pair.statements())
        both = [each.rows("SELECT id, v, UNIX_TIMESTAMP(t) FROM orders") for each in (mysql_db, mysql_db_b)]
        assert both[0] == both[1]
