"""The page about servers that fail over says what the tests show."""

from __future__ import annotations

from tests.integration.failover.shown import DOCUMENT, document


def test_the_table_is_that_of_the_tests() -> None:
    page = DOCUMENT.read_text(encoding="utf-8")
    assert page == document(), "run tools/when_servers_fail_over.py"
    assert page.count("`log-lost`") > 5
