"""Everything that is wrong with a tieout.yaml is told at once, with file, line and key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tieout.config import load
from tieout.errors import ConfigError

ENVIRONMENT = {"OLD_PASSWORD": "hunter2-hunter2"}
ENDPOINTS = "endpoints: {old: {url: 'sqlite:///a'}, new: {url: 'sqlite:///b'}}\n"
TASK = ENDPOINTS + "tasks:\n  shop:\n    source: old\n    target: new\n"
UNKNOWN = "unknown key (known: source, target, tables, delivery, consistency, target_level, move, options)"
MISWRITTEN = 'move.poll_seconds: "30x" is not a duration (write 500ms, 10s, 30m, 2h or 1d)'


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(text: str | bytes) -> str:
    content = text.encode() if isinstance(text, str) else text
    Path("tieout.yaml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(environment=ENVIRONMENT)
    error = caught.value
    # A traceback that goes on with pydantic's message would show values.
    assert error.__context__ is None or error.__suppress_context__
    return str(error)


def only_problem(text: str) -> str:
    first, *problems = refusal(text).splitlines()
    assert first == "tieout.yaml has 1 problem:"
    assert len(problems) == 1
    return problems[0]


def test_all_problems_at_once() -> None:
    text = """\
meta: kv:///x
sprak: {}
endpoints:
  old:
    url: mysql://${OLD_USER}:${OLD_PASSWORD}@db1/shop
  new:
    url: postgresq://db2/shop
tasks:
  shop:
    sorce: old
    target: nwe
    tables:
      - from: orders
        wher: a > 1
        columns:
          total: {sorce: a}
      - {to: x}
    delivery: exactly_once
    options:
      limit: many
"""
    assert refusal(text) == (
        "tieout.yaml has 11 problems:\n"
        "tieout.yaml:1: meta: should be a sqlite, postgresql or mysql URL, not kv\n"
        'tieout.yaml:2: sprak: unknown key (did you mean "spark"?)\n'
        "tieout.yaml:5: endpoints.old.url: environment variable OLD_USER is not set"
        " (set it, or write ${OLD_USER:-default})\n"
        'tieout.yaml:7: endpoints.new.url: unknown kind of endpoint "postgresq" (did you mean "postgresql"?)\n'
        'tieout.yaml:10: tasks.shop.sorce: unknown key (did you mean "source"?)\n'
        'tieout.yaml:11: tasks.shop.target: no endpoint is named "nwe" (did you mean "new"?)\n'
        'tieout.yaml:14: tasks.shop.tables[0].wher: unknown key (did you mean "where"?)\n'
        'tieout.yaml:16: tasks.shop.tables[0].columns.total.sorce: unknown key (did you mean "source"?)\n'
        "tieout.yaml:17: tasks.shop.tables[1].from: missing\n"
        'tieout.yaml:18: tasks.shop.delivery: unknown value "exactly_once" (did you mean "exactly-once"?)\n'
        'tieout.yaml:20: tasks.shop.options.limit: should be a whole number, not "many"'
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("    frm: x", f"frm: {UNKNOWN}"),
        ("    target: new", "target: duplicate key (first on line 5)"),
        ("    tables: orders", 'tables: should be a list, not "orders"'),
        ("    tables: [[a]]", "tables[0]: should be a mapping (key: value), not a list"),
        ("    tables: [{from: }]", "tables[0].from: should be text, not empty"),
        ("    tables: [{from: ''}]", "tables[0].from: should not be empty"),
        ("    tables: [{from: a, from: b}]", "tables[0].from: duplicate key (first on line 6)"),
        (
            "    tables: [{from: a, columns: {x: [1]}}]",
            "tables[0].columns.x: should be a mapping (key: value), not a list",
        ),
        ("    tables: [{from: a, columns: [{x: 1}]}]", "tables[0].columns[0]: should be text, not a mapping"),
        ("    tables: [{from: a, columns: {x: {target: b}}}]", "tables[0].columns.x.source: missing"),
        (
            "    tables: [{from: a, tolerance: {x: 0.0}}]",
            'tables[0].tolerance.x: "0.0" is not a tolerance (write 0.001, or "1e-9 relative")',
        ),
        (
            "    tables: [{from: a, tolerance: {x: much}}]",
            'tables[0].tolerance.x: "much" is not a tolerance (write 0.001, or "1e-9 relative")',
        ),
        ("    delivery: [a]", "delivery: should be one of at-least-once, at-most-once, exactly-once, not a list"),
        ("    consistency: eventual", 'consistency: unknown value "eventual" (known: row, table, transaction)'),
        (
            "    verify: [inline, target]",
            "verify: verification while a task runs is not available yet: leave this key out",
        ),
        (
            "    validation: {mode: full, row_error_delay: 30m}",
            "validation: continuous validation is not available yet: leave this key out",
        ),
        (
            "    event_log: lake:///backup/shop-events",
            "event_log: a lake that keeps every change is not available yet: leave this key out",
        ),
        ("    evnt_log: x", f"evnt_log: {UNKNOWN}"),
        ("    move: {chunk_rows: 0}", 'move.chunk_rows: should be at least 1, not "0"'),
        ("    move: {poll_seconds: 30x}", MISWRITTEN),
        ("    move: {max_replica_lag: 0s}", 'move.max_replica_lag: should be more than 0, not "0s"'),
        ("    options: {hash_bits: 32}", "options.hash_bits: should be 64 or 128, not 32"),
        ("    options: {chunk_rows: 0}", 'options.chunk_rows: should be at least 1, not "0"'),
        ("    options: {limit: 1.5}", 'options.limit: should be a whole number, not "1.5"'),
        ("    options: {recheck_times: -1}", 'options.recheck_times: should be at least 0, not "-1"'),
        ("    options: {counts_only: maybe}", 'options.counts_only: should be true or false, not "maybe"'),
        (
            "    options: {strategy: counts}",
            'options.strategy: unknown value "counts" (known: auto, native, pushdown, pull)',
        ),
        ("    options: {limit: !secret x}", "options.limit: the tag !secret is not supported"),
        ("    options: {limit: '${'}", 'options.limit: "${" without its "}" (write "$$" for a dollar)'),
    ],
)
def test_what_may_be_wrong_with_a_task(line: str, problem: str) -> None:
    assert only_problem(TASK + line + "\n") == f"tieout.yaml:6: tasks.shop.{problem}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1, 2]", "tieout.yaml:1: should be a mapping (key: value), not a list"),
        ("\n\nhello", 'tieout.yaml:3: should be a mapping (key: value), not "hello"'),
        ("? [a]\n: b\n", "tieout.yaml:1: a key should be text"),
        ("spark: &a {conf: *a}", "tieout.yaml:1: spark.conf: an alias that contains itself"),
        ("endpoints: {a: mysql://h}", 'tieout.yaml:1: endpoints.a: should be a mapping (key: value), not "mysql://h"'),
        ("endpoints: {a: {}}", "tieout.yaml:1: endpoints.a.url: missing"),
        (
            "endpoints: {a: {url: 'sqlite:///x', password: p}}",
            "tieout.yaml:1: endpoints.a: password is given, but a sqlite URL takes none",
        ),
        (
            "endpoints: {a: {url: 'mysql://u:x@h', password: p}}",
            "tieout.yaml:1: endpoints.a: password is given twice: in the URL and beside it",
        ),
        (
            "endpoints:\n  a:\n    url: postgresql://h/d\n    read_timeout: 30s",
            "tieout.yaml:4: endpoints.a.read_timeout: is not available yet for postgresql URLs",
        ),
        (
            "endpoints:\n  a:\n    url: sqlite:///x\n    connect_timeout: 30s",
            "tieout.yaml:4: endpoints.a.connect_timeout: is not available yet for sqlite URLs",
        ),
        ("endpoints: {a: {url: 'kv:///x'}}", "tieout.yaml:1: endpoints.a.url: kv:// is not available yet"),
        (
            "tasks: {t: {source: 'kv:///x', target: 'sqlite:///x'}}",
            "tieout.yaml:1: tasks.t.source: kv:// is not available yet",
        ),
        (
            "tasks: {t: {source: old, target: 'sqlite:///x'}}",
            'tieout.yaml:1: tasks.t.source: no endpoint is named "old" (there are none)',
        ),
        (
            "tasks: {t: {source: 'sqlite:///x', target: 'mysq://h'}}",
            'tieout.yaml:1: tasks.t.target: unknown kind of endpoint "mysq" (did you mean "mysql"?)',
        ),
    ],
)
def test_what_may_be_wrong_elsewhere(text: str, problem: str) -> None:
    assert only_problem(text) == problem


def test_a_section_can_not_be_merged_into_itself() -> None:
    assert "tieout.yaml:1: spark: an alias that contains itself" in refusal("spark: &a {<<: *a}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c\n", "tieout.yaml:1:5: not valid YAML: mapping values are not allowed here"),
        ("a: 1\n\tb: 2\n", None),
        (
            "a: [1\nb: 2\n",
            "tieout.yaml:2:2: not valid YAML: while parsing a flow sequence, expected ',' or ']', but got ':'",
        ),
        ("a: *b\n", "tieout.yaml:1:4: not valid YAML: found undefined alias 'b'"),
        (
            "a: 1\n---\nb: 2\n",
            "tieout.yaml:2:1: not valid YAML: expected a single document in the stream, but found another document",
        ),
    ],
)
def test_what_is_not_yaml_is_one_line(text: str, message: str | None) -> None:
    told = refusal(text)
    assert re.fullmatch(r"tieout\.yaml:\d+:\d+: not valid YAML: .+", told)
    if message is not None:
        assert told == message


def test_control_characters_are_not_yaml() -> None:
    told = refusal("a: \x01")
    assert told.startswith("tieout.yaml: not valid YAML: ")
    assert "\n" not in told


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n"])
def test_an_empty_file(text: str) -> None:
    assert refusal(text) == "tieout.yaml is empty ('tieout init --force' writes a commented one)"


def test_a_file_that_is_not_text() -> None:
    assert refusal(b"\xff\xfe\x00") == "tieout.yaml is not text in UTF-8"


def test_no_file() -> None:
    with pytest.raises(ConfigError) as caught:
        load()
    assert str(caught.value) == "no tieout.yaml here: run 'tieout init', or give --config FILE"
    for required in (True, False):
        with pytest.raises(ConfigError) as caught:
            load(Path("other.yaml"), required=required)
        assert str(caught.value) == "there is no file other.yaml: run 'tieout init', or give --config FILE"


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "tieout.yaml").mkdir()
    with pytest.raises(ConfigError) as caught:
        load()
    assert str(caught.value) == "can't read tieout.yaml: Is a directory"


@pytest.mark.parametrize(
    "text",
    [
        "endpoints: {a: 'mysql://u:hunter2-hunter2@h'}",
        "endpoints: {a: {url: 'mysql://u:hunter2-hunter2@h?x=1'}}",
        "endpoints: {a: {url: 'mysql://u:hunter2-hunter2'}}",
        "endpoints: {a: {url: 'mysql://h', password: [hunter2-hunter2]}}",
        "endpoints: {a: {url: 'mysql://h', connections: '${OLD_PASSWORD}'}}",
        "tasks: {a: {source: 'mysq://u:hunter2-hunter2@h', target: 'mysql:u:hunter2-hunter2@h'}}",
        "endpoints: {a: {url: 'mysql://h', pasword: hunter2-hunter2}}",
    ],
)
def test_no_problem_shows_a_password(text: str) -> None:
    assert "hunter2" not in refusal(text)


def test_the_time_zone_of_spark_is_utc() -> None:
    zone = "spark: {conf: {spark.sql.session.timeZone: %s}}\n"
    assert only_problem(zone % "Europe/Berlin") == (
        "tieout.yaml:1: spark.conf: spark.sql.session.timeZone can't be set: "
        "the expressions of tasks are evaluated in UTC"
    )
    Path("tieout.yaml").write_text(zone % "UTC")
    load(environment=ENVIRONMENT)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("move: {}", "`move` says"),
        ("delivery: at-least-once", "`delivery` says"),
        ("consistency: row", "`consistency` says"),
        ("{delivery: at-least-once, target_level: unique-key}", "`delivery` and `target_level` say"),
    ],
)
def test_sql_for_the_target_in_a_task_that_is_moved(keys: str, said: str) -> None:
    """Whoever meant to verify only learns which key says otherwise."""
    lines = keys.strip("{}").replace(", ", "\n    ") if keys.startswith("{") else keys
    columns = "columns: {net: {source: gross - tax, target: net_price}}"
    task = f"{TASK}    tables: [orders, {{from: prices, {columns}}}]\n"
    assert only_problem(f"{task}    {lines}\n").endswith(
        f"{said} that the task is moved, and a move computes columns from the source alone: "
        f"leave out {said.rpartition(' ')[0]}, or `target` of the column net of prices"
    )
    Path("tieout.yaml").write_text(f"{task}    options: {{limit: 3}}\n")
    assert not load().task("shop").is_moved
