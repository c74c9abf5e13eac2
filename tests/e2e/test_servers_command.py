"""Commands against real servers: who may not in, what is not there, and a task with passwords."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.servers.server import PASSWORD

WRONG = "w%40ng-secret"


def refused(ended, said: str) -> None:
    assert ended.code == 2
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert said in line
    assert "Traceback" not in line
    for secret in (WRONG, "w@ng-secret", PASSWORD, quote(PASSWORD, safe="")):
        assert secret not in line


@pytest.mark.parametrize("server", ["mysql_db", "pg_db"])
def test_who_may_not_in(request: pytest.FixtureRequest, tieout, server: str):
    database = request.getfixturevalue(server)
    scheme, _, rest = database.url.partition("://")
    place = rest.rpartition("@")[2]
    wrong = f"{scheme}://tieout:{WRONG}@{place}"
    refused(tieout("verify", "--source", wrong, "--target", database.url, "--quiet"), "error[access]")
    nowhere = f"{scheme}://tieout:{WRONG}@no-such-host.invalid/db"
    refused(tieout("verify", "--source", database.url, "--target", nowhere, "--quiet"), "error[unreachable]")
    elsewhere = database.url.replace(database.name, "no_such_db")
    refused(tieout("verify", "--source", database.url, "--target", elsewhere, "--quiet"), "error[missing-object]")


def test_a_task_with_passwords(mysql_db, pg_db, tieout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for database in (mysql_db, pg_db):
        database.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, v VARCHAR(20))")
        database.execute("INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    monkeypatch.setenv("SECRET", PASSWORD)
    address = [f"{db.server.host}:{db.server.port}/{db.name}" for db in (mysql_db, pg_db)]
    (tmp_path / "tieout.yaml").write_text(
        "endpoints:\n"
        f"  old: {{url: 'mysql://tieout@{address[0]}', password: '${{SECRET}}'}}\n"
        f"  new: {{url: 'postgresql://tieout:${{SECRET}}@{address[1]}'}}\n"
        "tasks: {shop: {source: old, target: new}}\n"
    )
    assert tieout("verify", "shop").code == 0
    by_name = tieout("verify", "--source", "old", "--target", "new", "-o", "json")
    assert by_name.code == 0
    shown = tieout("jobs", "show", "last", "-o", "json")
    assert PASSWORD not in shown.out + by_name.out
    assert json.loads(shown.out)["source"] == f"mysql://tieout:***@{address[0]}"

    # Of a job without a task only the URLs are kept, and no password.
    pg_db.execute("UPDATE orders SET v = 'x' WHERE id = 2")
    assert tieout("verify", "--source", mysql_db.url, "--target", pg_db.url, "--quiet").code == 1
    plan = tieout("repair", "plan", "last")
    assert plan.code == 2
    assert "did not store the password of" in plan.err
    assert "give --source again" in plan.err
    assert tieout("repair", "plan", "last", "--source", "old", "--target", "new", "--quiet").code == 0
    elsewhere = tieout("repair", "plan", "last", "--source", "old", "--target", "sqlite:///x.db")
    assert elsewhere.code == 2
    assert "its results hold only for that database" in elsewhere.err


def test_preflight_tells_all_at_once(mysql_db, pg_db, tieout):
    for database in (mysql_db, pg_db):
        database.execute("CREATE TABLE fine (id BIGINT PRIMARY KEY, v VARCHAR(20))")
        database.execute("CREATE TABLE keyless (v VARCHAR(20))")
    mysql_db.execute("CREATE TABLE shapes (id BIGINT PRIMARY KEY, shape GEOMETRY)")
    pg_db.execute("CREATE TABLE shapes (id BIGINT PRIMARY KEY, shape POINT)")
    mysql_db.execute("CREATE TABLE lonely (id BIGINT PRIMARY KEY)")
    pg_db.execute("CREATE TABLE hidden (id BIGINT PRIMARY KEY)")
    mysql_db.execute("CREATE TABLE hidden (id BIGINT PRIMARY KEY)")
    pg_db.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'")
    try:
        pg_db.execute("GRANT SELECT ON fine, keyless, shapes TO reader")
        url = f"postgresql://reader:reader@{pg_db.server.host}:{pg_db.server.port}/{pg_db.name}"
        ended = tieout("preflight", "--source", mysql_db.url, "--target", url, "--output", "json")
        text = tieout("preflight", "--source", mysql_db.url, "--target", url)
    finally:
        pg_db.execute("DROP OWNED BY reader; DROP ROLE reader")
    assert ended.code == text.code == 3
    found = json.loads(ended.out)
    assert found["ready"]
    assert "MariaDB" in found["source"]["version"]
    told = {(p["severity"], (p["table"] or "").partition(".")[2]): p for p in found["problems"]}
    assert "GRANT" in told["unverified", "hidden"]["fix"]
    assert told["unverified", "hidden"]["side"] == "target"
    assert "shape" in told["unverified", "shapes"]["message"]
    assert "only on the source" in told["different", "lonely"]["message"]
    assert "no key" in told["note", "keyless"]["message"]
    tables = {table["source_table"].partition(".")[2]: table for table in found["tables"]}
    assert tables["fine"]["guarantee"]["rechecks"]
    assert not tables["keyless"]["guarantee"]["rechecks"]
    assert text.out.startswith("ready, but not everything would be verified")
    assert "reader:reader" not in text.out + ended.out

    nothing = tieout("preflight", "--source", mysql_db.url, "--target", url.replace("reader:reader", f"reader:{WRONG}"))
    assert nothing.code == 2
    assert "prevents   target" in nothing.out
    assert WRONG not in nothing.out
