"""A password that is known, or that stands where passwords stand, is in no message."""

from __future__ import annotations

import logging
import threading

import pytest

from tieout.config import SecretFilter, redact, register_secret, scrub
from tieout.config.secrets import SecretRegistry, looks_secret


def test_a_registered_secret_is_hidden_in_every_spelling() -> None:
    register_secret("p@ss/wörd 'x'")
    for spelling in (
        "p@ss/wörd 'x'",
        "p%40ss%2Fw%C3%B6rd%20%27x%27",
        "p%40ss%2fw%c3%b6rd%20%27x%27",
        "p%40ss/w%C3%B6rd%20%27x%27",
        "p%40ss%2Fw%C3%B6rd+%27x%27",
        "p@ss/w\\u00f6rd 'x'",
    ):
        assert scrub(f"<{spelling}>") == "<***>"


def test_a_short_secret_is_hidden_where_it_stands_alone() -> None:
    register_secret("postgres")
    assert scrub('login "postgres" at postgresql://h') == 'login "***" at postgresql://h'
    assert scrub(r"b'\x00postgres\x00'") == r"b'\x00***\x00'"
    assert scrub("a_postgres_b postgres:postgres") == "a_***_b ***:***"


def test_a_long_secret_is_hidden_inside_words() -> None:
    register_secret("correcthorse")
    assert scrub("xcorrecthorsex") == "x***x"


def test_of_two_secrets_the_longer_one_leaves_no_rest() -> None:
    assert redact("tiger tiger-cub", ["tiger", "tiger-cub"]) == "*** ***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("can't reach mysql://ann:s3cret@db1/shop", "can't reach mysql://ann:***@db1/shop"),
        ("mysql://:s3cret@db1", "mysql://:***@db1"),
        ("mysql://ann:s3/cr@et@db1/shop", "mysql://ann:***@db1/shop"),
        ('{"a":"mysql://u:x1@h","b":"pg://u:x2@h"}', '{"a":"mysql://u:***@h","b":"pg://u:***@h"}'),
        ("mysql://ann@db1:3306/shop", "mysql://ann@db1:3306/shop"),
        ("host=db1 password=s3cret user=ann", "host=db1 password=*** user=ann"),
        ("host=db1 password='s3 cret' user=ann", "host=db1 password=*** user=ann"),
        ("connect(passwd='s3cret', port=1)", "connect(passwd=***, port=1)"),
        ("https://h/x?api_key=abc&page=2", "https://h/x?api_key=***&page=2"),
        ("key=7 ssl_key=/a/b.pem", "key=7 ssl_key=/a/b.pem"),
    ],
)
def test_an_unknown_secret_is_hidden_by_its_place(text: str, shown: str) -> None:
    assert scrub(text) == shown


def test_nothing_and_blanks_are_no_secrets() -> None:
    for nothing in (None, "", "  "):
        register_secret(nothing)
    assert scrub("a  b") == "a  b"
    assert redact("a  b", ["", " "]) == "a  b"


@pytest.mark.parametrize(
    "name", ["password", "OLD_PASSWORD", "PGPASSWORD", "db_pass", "sslpassword", "fs.s3a.secret.key", "apiKey"]
)
def test_names_of_secrets(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["ssl_key", "sslkey", "key", "user", "compass", "passive"])
def test_names_of_other_things(name: str) -> None:
    assert not looks_secret(name)


def logged(caplog: pytest.LogCaptureFixture) -> str:
    return logging.Formatter("%(message)s").format(caplog.records[-1])


def test_a_log_holds_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    register_secret("hunter2-hunter2")
    caplog.handler.addFilter(keep_out := SecretFilter())
    try:
        log = logging.getLogger("tieout.test")
        log.warning("denied for %s at %d", "hunter2-hunter2", 3)
        assert logged(caplog) == "denied for *** at 3"
        try:
            raise RuntimeError("bad password hunter2-hunter2")
        except RuntimeError:
            log.exception("failed", stack_info=True)
        assert "RuntimeError: bad password ***" in logged(caplog)
        assert "hunter2-hunter2" not in logged(caplog)
    finally:
        caplog.handler.removeFilter(keep_out)


def test_threads_may_register_and_scrub_at_once(registry: SecretRegistry) -> None:
    failures: list[str] = []

    def work(thread: int) -> None:
        for number in range(20):
            secret = f"secret-of-{thread}-no-{number}!"
            registry.register(secret)
            if registry.scrub(secret) != "***":
                failures.append(secret)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
