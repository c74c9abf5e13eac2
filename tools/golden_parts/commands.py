"""What every command writes and how it ends, on SQLite: each form that scripts parse, each exit code."""

from __future__ import annotations

import json
import time

from tools.golden_parts.running import Workplace, workplace
from tools.golden_parts.shop import CHANGES, SPOILING, change, configuration, fill, sqlite_file

LISTS = ("json", "ndjson", "csv", "text")
NOWHERE = "postgresql://app@127.0.0.1:1/shop"
"""Nobody listens at port 1."""
_WRONG = "endpoint: {}\ntasks:\n  shop: {source: nobody, tables: 3, delivery: twice}\nmeta: ${NOT_SET}\n"


def record() -> str:
    texts = []
    for story in (small, empty, verifying, checking, changed, moving, shown):
        with workplace() as place:
            story(place)
            texts.append(place.text())
    return "\n".join(texts)


def small(place: Workplace) -> None:
    """Commands about nothing but themselves."""
    place.title("version, init, config")
    for form in ("json", "text", "csv", "junit"):
        place.run("version", "-o", form)
    place.program("config", "check")
    place.run("init", files=("tieout.yaml",))
    place.run("init")
    place.run("init", "--force", "-o", "json")
    place.run("config", "check", "-o", "json")
    (place.directory / "wrong.yaml").write_text(_WRONG)
    place.run("config", "check", "--config", "wrong.yaml")


def empty(place: Workplace) -> None:
    """Where nothing was ever run, and words that are none."""
    place.title("nothing there")
    for words in (("nonsense",), ("verify", "--nonsense"), ("jobs", "list", "-o", "yaml"), ("jobs", "show", "v-1")):
        place.program(*words)
    for form in (*LISTS, "junit"):
        place.run("jobs", "list", "-o", form)
    place.run("failures", "list", "-o", "json")
    place.run("failures", "show", "last")
    place.run("repair", "plan", "last")
    place.run("repair", "apply", "last")
    place.run("status", "-o", "json")
    place.run("task", "list")


def verifying(place: Workplace) -> None:
    """Two shops that are equal, then different, then repaired."""
    source, target = (sqlite_file(place.directory, name) for name in ("source", "target"))
    fill(source)
    fill(target)
    (place.directory / "tieout.yaml").write_text(configuration(source.url, target.url))
    pair = ("--source", source.url, "--target", target.url, "--quiet", "--recheck-times", "0")
    place.title("config, explain, preflight")
    for form in ("json", "text"):
        place.run("config", "check", "-o", form)
    for form in ("json", "text"):
        place.run("verify", "shop", "--explain", "-o", form)
        place.run("preflight", "shop", "--table", "orders", "-o", form)
    place.run("preflight", "--source", source.url, "--target", NOWHERE, "-o", "json")
    place.title("verify: equal")
    place.program("verify", *pair, "-o", "json")
    place.title("verify: different")
    change(target, SPOILING)
    place.program("verify", *pair, "-o", "json")
    for form in ("text", "ndjson", "csv", "junit", "html"):
        place.run("verify", *pair, "-o", form)
    words = ("verify", "shop", "--table", "orders", "--limit", "1", "--quiet")
    place.run(*words, "--repair-sql", "sql", "-o", "json", files=("sql",))
    place.run("verify", *pair, "--redact-values", "--table", "customers", "-o", "json")
    place.title("verify: unverified")
    place.program("verify", *pair, "--counts-only", "--table", "customers", "-o", "json")
    for side, of in ((source, "INTERVAL"), (target, "TEXT")):
        side.execute(f"CREATE TABLE spans (id INTEGER PRIMARY KEY, span {of}); INSERT INTO spans VALUES (1, '1')")
    for form in ("json", "junit"):
        place.run("verify", *pair, "--table", "spans", "-o", form)
    place.title("verify: could not run")
    for words in (("--table", "nope"), ("--strategy", "nonsense"), ("--columns", "nope")):
        place.run("verify", *pair, *words, "-o", "json")
    place.call("verify", *pair, "--table", "spans")
    place.run("verify", *pair, "--resume", "last", "-o", "json")
    place.run("verify")
    place.run("verify", "nonsense")
    place.run("verify", "--source", source.url, "--target", NOWHERE, "-o", "json")
    _jobs(place)
    place.title("repair of a verification")
    place.call("verify", *pair, "--exclude", "spans")
    _repaired(place)
    place.run("verify", *pair, "--table", "orders", "-o", "json")


def _jobs(place: Workplace) -> None:
    place.title("jobs")
    for form in LISTS:
        place.run("jobs", "list", "--limit", "3", "-o", form)
        place.run("jobs", "show", "last", "-o", form)
    place.run("jobs", "list", "--state", "running", "-o", "json")
    for verb in ("pause", "cancel", "resume"):
        place.run("jobs", verb, "last", "-o", "json")


def _repaired(place: Workplace, *plan: str) -> None:
    """Planned, shown, applied and taken back in each form; then applied for good."""
    for form in ("json", "text"):
        sql = f"{form}.sql"
        place.run("repair", "plan", "last", *plan, "--sql", sql, "--quiet", "-o", form, files=(sql,))
        for verb in ("apply", "undo"):
            place.run("repair", verb, "last", "--quiet", "-o", form)
    place.run("repair", "apply", "last", "--quiet")
    place.call("repair", "plan", "last", *plan, "--quiet")
    place.run("repair", "apply", "last", "--dry-run")
    place.run("repair", "apply", "last", "--quiet")


def checking(place: Workplace) -> None:
    """A shop that agrees with itself, then does not, then is repaired."""
    from tests.corruption import sqlite

    shop = sqlite_file(place.directory, "shop")
    fill(shop)
    asked = ("check", shop.url)
    place.title("check: clean")
    place.program(*asked, "CHECK TABLE customers", "--quiet", "-o", "json")
    for form in ("json", "text"):
        place.run(*asked, "CHECK TABLE orders, customers", "--quiet", "-o", form)
    (place.directory / "checks.sql").write_text("CHECK TABLE orders INDEX orders_sku;\nCHECK TABLE visits VALIDITY;\n")
    place.run(*asked, "--file", "checks.sql", "--quiet", "-o", "json")
    place.run(*asked, "--quiet", "-o", "json", stdin="CHECK DATABASE shop")
    place.title("check: detached")
    place.run(*asked, "INSPECT TABLE orders WITH OPTIONS INDEX ALL, DETACHED", "-o", "json")
    _await_end(place)
    place.run("jobs", "show", "last", "-o", "json")
    place.title("check: failures")
    soon = ("--recheck-after", "0.1s", "--engine-checker", "none")
    sqlite.missing_entry(shop, "orders", "orders_sku", "id = 5")
    sqlite.violated_check(shop, "orders", "id = 6", {"qty": -6})
    sqlite.wrong_reference(shop, "orders", "id = 8", {"customer": 999})
    for form in ("json", "text", "ndjson", "csv", "junit"):
        place.run(*asked, "CHECK TABLE orders", *soon, "--quiet", "-o", form)
    place.run(*asked, "EXPERIMENTAL SCRUB DATABASE shop", *soon, "--quiet", "--limit", "1", "-o", "json")
    place.run(*asked, "CHECK TABLE orders CONSTRAINT orders_qty", "--quiet", "--redact-values", "-o", "json")
    _failures(place)
    place.title("check: not checked")
    shop.execute(
        "CREATE TABLE odd (id INTEGER PRIMARY KEY, v TEXT CHECK (length(v) > 0)); CREATE INDEX odd_v ON odd (upper(v))"
    )
    for form in ("json", "junit"):
        place.run(*asked, "CHECK TABLE odd VALIDITY CHANGED", "--quiet", "-o", form)
    place.title("check: could not run")
    for statement in ("CHECK NOTHING", "CHECK TABLE nope", "CHECK TABLE orders INDEX nope", "CHECK DATABASE nope", ""):
        place.run(*asked, statement, "--quiet", "-o", "json")
    place.run("check")
    place.run("check", NOWHERE, "CHECK TABLE orders", "--quiet", "-o", "json")
    place.run(*asked, "CHECK TABLE orders", "--follow")
    place.title("repair of a check")
    place.call(*asked, "CHECK TABLE orders", *soon, "--quiet")
    place.run("repair", "plan", "last", "--quiet", "-o", "json")
    place.run("repair", "plan", "last", "--quiet", "--choose", "nonsense")
    chosen = ("--choose", "check_violation=replace", "--set", "orders.qty=6")
    _repaired(place, *chosen, "--choose", "foreign_key_violation=delete")
    place.run(*asked, "CHECK TABLE orders", "--recheck-after", "0.1s", "--quiet", "-o", "json")


def _failures(place: Workplace) -> None:
    """Of each check but one failure: those that were found together are listed in any order."""
    place.title("failures")
    for form in LISTS:
        place.run("failures", "list", "-o", form)
    place.run("failures", "list", "--kind", "check_violation", "-o", "json")
    place.run("failures", "show", "nope")
    found = json.loads(place.call("failures", "list", "--kind", "check_violation", "-o", "json").out)
    for words in (("show",), ("ignore", "--note", "known"), ("resolve",)):
        place.run("failures", words[0], found[0]["id"], *words[1:], "-o", "json")
    place.run("failures", "show", found[0]["id"])


def _await_end(place: Workplace) -> None:
    """Until the newest job has ended."""
    deadline = time.monotonic() + 120
    while json.loads(place.call("jobs", "list", "-o", "json").out)[0]["state"] == "running":
        assert time.monotonic() < deadline, "a detached check did not end"
        time.sleep(0.5)


def changed(place: Workplace) -> None:
    """CHECK … CHANGED, from the first time to --forget."""
    shop = sqlite_file(place.directory, "shop")
    fill(shop)
    asked = ("check", shop.url)
    place.title("check: changed")
    place.run(*asked, "CHECK TABLE orders CHANGED", "--quiet", "-o", "json")
    change(shop, CHANGES)
    place.run(*asked, "CHECK TABLE orders CHANGED", "--quiet", "-o", "json")
    place.run(*asked, "CHECK TABLE orders CHANGED", "--quiet")
    place.run(*asked, "--forget")
    place.run(*asked, "--forget")


def moving(place: Workplace) -> None:
    """A shop that is moved, changed and followed."""
    source, target = (sqlite_file(place.directory, name) for name in ("source", "target"))
    fill(source)
    (place.directory / "tieout.yaml").write_text(configuration(source.url, target.url))
    place.title("run")
    for form in ("json", "text"):
        place.run("preflight", "shop", "-o", form)
    place.run("status", "shop", "-o", "json")
    run = ("run", "shop", "--until-caught-up", "--quiet")
    place.program(*run, "-o", "json")
    change(source, CHANGES)
    place.run(*run, "-o", "json")
    place.run(*run)
    place.run("run", "nonsense")
    place.title("status, task, steering")
    for form in LISTS:
        place.run("status", "-o", form)
        place.run("status", "shop", "-o", form)
        place.run("task", "list", "-o", form)
    place.run("jobs", "show", "last", "-o", "json")
    place.run("preflight", "shop", "-o", "json")
    for verb in ("pause", "resume", "stop"):
        place.run(verb, "shop")
    place.run("pause", "nonsense")
    place.title("a table that stops")
    source.execute("ALTER TABLE visits RENAME COLUMN duration TO spent; INSERT INTO visits VALUES ('/stop', 2)")
    place.run(*run, "-o", "json")
    place.run("status", "shop", "-o", "json")
    place.title("task drop")
    place.run("task", "drop", "shop")
    place.run("task", "drop", "shop", "-o", "json")
    place.run("task", "drop", "nonsense")
    place.run(*run, "-o", "json")


def shown(place: Workplace) -> None:
    """The demo; how much its writer gets done is up to the machine."""
    place.title("demo")
    ended = place.call("demo", "--master", "local[2]", "--quiet", "-o", "json")
    document = json.loads(ended.out)
    document |= {"rows": "<rows>", "changes": "<changes>"}
    place.lines.append(f"$ tieout demo -o json\nexit {ended.code}")
    place.lines.append(json.dumps(place.normaliser.value(document), indent=2, sort_keys=True))
    place.run("demo", "-o", "csv")
