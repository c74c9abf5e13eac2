"""A tieout.yaml becomes settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tieout.config import Settings, load, parse_url
from tieout.errors import ConfigError
from tieout.model.requests import Meaning, TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import Strategy

ENVIRONMENT = {"OLD_USER": "ann", "OLD_PASSWORD": "p@ss/word"}

# What is available of it, as interface.md has it.
DOCUMENTED = """\
meta: sqlite:///.tieout/meta.db        # the default; postgresql:// or mysql:// for a team
spark: {master: "local[*]", conf: {}}
endpoints:
  old: {url: "mysql://${OLD_USER}:${OLD_PASSWORD}@db1/shop"}
  new: {url: "postgresql://app@db2/shop?schema=public"}
tasks:
  shop:
    source: old
    target: new
    tables:
      - {from: shop.orders, to: public.orders, where: "region = 'eu'", columns: {total: "price * qty"}, key: [id]}
      - {from: "shop.*", exclude: [shop.audit]}
    delivery: exactly-once             # at-least-once | at-most-once | exactly-once
    consistency: table                 # row | table | transaction
"""


def settings_of(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "tieout.yaml"
    file.write_text(text, encoding="utf-8")
    return load(file, environment=ENVIRONMENT)


def test_the_documented_file(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, DOCUMENTED)
    assert settings.meta == parse_url("sqlite:///.tieout/meta.db")
    assert settings.spark.master == "local[*]"
    task = settings.task("shop")
    assert (task.delivery, task.consistency) == ("exactly-once", "table")
    assert settings.verify_request("shop") == VerifyRequest(
        source="mysql://ann:p%40ss%2Fword@db1:3306/shop",
        target="postgresql://app@db2:5432/shop?schema=public",
        tables=(
            TableRequest(
                source="shop.orders",
                target="public.orders",
                where="region = 'eu'",
                key=("id",),
                expressions={"total": ("price * qty", "")},
            ),
            TableRequest(source="shop.*", exclude=("shop.audit",)),
        ),
        options=VerifyOptions(),
        task="shop",
        meaning=Meaning.MOVED,
    )


@pytest.mark.parametrize(
    "said", ["move: {}", "move:", "delivery: exactly-once", "consistency: row", "target_level: unique-key"]
)
def test_a_task_that_says_how_it_is_moved_is_moved(tmp_path: Path, said: str) -> None:
    text = f"tasks: {{t: {{source: 'sqlite:///a.db', target: 'sqlite:///b.db', {said} }}}}"
    settings = settings_of(tmp_path, text)
    assert settings.task("t").is_moved
    assert settings.verify_request("t").meaning is Meaning.MOVED
    plain = settings_of(tmp_path, text.replace(said, "options: {limit: 3}"))
    assert not plain.task("t").is_moved
    assert plain.verify_request("t").meaning is Meaning.SPARK


def test_everything_a_verification_can_be_told(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
tasks:
  t:
    source: sqlite:///a.db
    target: sqlite:///b.db
    tables:
      - orders
      - from: items
        source_where: a = 1
        target_where: b = 1
        columns: [id, qty]
        exclude_columns: seen_at
        key: id
        tolerance: {weight: 0.001, ratio: 1e-9 relative}
      - from: prices
        columns: {net: {source: gross - tax, target: net_price}}
    options:
      strategy: pull
      hash_bits: 128
      counts_only: yes
      exact_scale: true
      limit: null
      chunk_seconds: 500ms
      chunk_rows: 1000
      max_rows_per_second: 5000
      recheck_after: 0
      recheck_times: 0
""",
    )
    request = settings.verify_request("t")
    assert request.tables == (
        TableRequest(source="orders"),
        TableRequest(
            source="items",
            source_where="a = 1",
            target_where="b = 1",
            columns=("id", "qty"),
            exclude_columns=("seen_at",),
            key=("id",),
            tolerance={"weight": "0.001", "ratio": "1e-9 relative"},
        ),
        TableRequest(source="prices", expressions={"net": ("gross - tax", "net_price")}),
    )
    assert request.options == VerifyOptions(
        strategy=Strategy.PULL,
        hash_bits=128,
        counts_only=True,
        exact_scale=True,
        limit=None,
        chunk_seconds=0.5,
        chunk_rows=1000,
        max_rows_per_second=5000,
        recheck_after=0.0,
        recheck_times=0,
    )


def test_the_options_are_those_of_a_verification() -> None:
    from tieout.config.task_settings import OptionSettings

    assert OptionSettings().options() == VerifyOptions()


def test_what_stands_beside_a_url_joins_it(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
endpoints:
  a: {url: mysql://h/d?connections=9&ssl_ca=latin1, user: ann, password: 007, connections: 2000000, read_timeout: 90s}
""",
    )
    assert settings.endpoint("a") == "mysql://ann:007@h:3306/d?connections=2000000&ssl_ca=latin1&read_timeout=90"


def test_numbers_and_truths_are_text_where_text_is_wanted(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
spark: {conf: {spark.ui.enabled: false, spark.sql.shuffle.partitions: 08, x: 1_000, y: 1.50}}
tasks: {no: {source: "sqlite:///a", target: "sqlite:///b", tables: [{from: 2024, where: true}]}}
""",
    )
    assert settings.spark.conf == {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "08",
        "x": "1_000",
        "y": "1.50",
    }
    assert settings.verify_request("no").tables == (TableRequest(source="2024", where="true"),)


def test_anchors_and_merges(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
tasks:
  a: &a {source: "sqlite:///a", target: "sqlite:///b", tables: [orders]}
  b: {target: "sqlite:///c", <<: *a}
""",
    )
    assert settings.task("b").target == "sqlite:///c"
    assert settings.verify_request("b").tables == (TableRequest(source="orders"),)


def test_sections_may_be_empty(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "endpoints:\ntasks:\nspark:\n") == Settings()


def test_no_settings_shows_a_password(tmp_path: Path) -> None:
    text = DOCUMENTED + "  b: {source: 'mysql://u:p%40ss%2Fword@h', target: old}\n"
    text = text.replace("conf: {}", "conf: {fs.s3a.secret.key: p@ss/word}")
    text = text.replace("new: {", "new: {password: p@ss/word, ")
    settings = settings_of(tmp_path, text)
    assert settings.verify_request("b").source == "mysql://u:p%40ss%2Fword@h:3306/"
    assert settings.verify_request("shop").target.startswith("postgresql://app:p%40ss%2Fword@")
    for shown in (repr(settings), str(settings), repr(settings.endpoints), repr(settings.task("b"))):
        assert "p@ss" not in shown
        assert "p%40ss" not in shown


def test_settings_do_not_change(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, DOCUMENTED)
    with pytest.raises(ValueError, match="frozen"):
        settings.task("shop").delivery = "at-most-once"


def test_an_endpoint_by_name_or_by_url(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, DOCUMENTED)
    assert settings.endpoint("new") == "postgresql://app@db2:5432/shop?schema=public"
    assert settings.endpoint("mariadb://db3/shop") == "mysql://db3:3306/shop"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.task("shpo"), 'no task is named "shpo" (did you mean "shop"?)'),
        (lambda s: s.verify_request("zzz"), 'no task is named "zzz" (known: shop)'),
        (lambda s: s.endpoint("odl"), 'no endpoint is named "odl" (did you mean "old"?)'),
        (lambda s: s.endpoint("mysq://h"), 'unknown kind of endpoint "mysq" (did you mean "mysql"?)'),
        (lambda s: Settings().task("shop"), 'no task is named "shop" (the configuration has no tasks)'),
        (
            lambda s: Settings().endpoint("old"),
            'not an endpoint URL: "old" (a URL is like mysql://user@host/database or sqlite:///file.db)',
        ),
    ],
)
def test_unknown_names(tmp_path: Path, ask, message: str) -> None:  # type: ignore[no-untyped-def]
    settings = settings_of(tmp_path, DOCUMENTED)
    with pytest.raises(ConfigError) as caught:
        ask(settings)
    assert str(caught.value) == message


def test_the_file_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(required=False) == Settings()
    (tmp_path / "tieout.yaml").write_text("meta: sqlite:///${HERE}.db\n")
    monkeypatch.setenv("HERE", "other")
    assert load().meta.path == "other.db"
    assert load(required=False).meta.path == "other.db"
