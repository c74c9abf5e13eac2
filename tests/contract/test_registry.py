"""Every connector of the registry is in the table of engines, and joins the suites of all that it can do."""

from __future__ import annotations

import pytest

from tests.contract.engines import CHECK, DESCRIBE, ENGINES, FOLLOW, READ, ROWS, TARGET
from tieout.config.urls import parse_url
from tieout.connectors import registry
from tieout.errors import UnsupportedError


def open_reader(url):
    return registry.open_endpoint(url).reader()


PARTS = {
    registry.open_endpoint: DESCRIBE,
    open_reader: READ,
    registry.open_writer: ROWS,
    registry.open_checker: CHECK,
    registry.open_repairer: CHECK,
    registry.open_source: FOLLOW,
    registry.open_target: TARGET,
}


def test_every_connector_is_tested(request):
    schemes = set()
    for engine in ENGINES:
        with engine.make(request) as database:
            schemes.add(parse_url(database.url).scheme)
    assert schemes == set(registry.CONNECTORS)


@pytest.mark.parametrize("each", ENGINES, ids=lambda each: each.name)
def test_a_suite_that_an_engine_does_not_join_is_of_something_it_lacks(request, each):
    with each.make(request) as database:
        url = parse_url(database.url)
        for part, suites in PARTS.items():
            if suites <= each.suites:
                opened = part(url)
                getattr(opened, "close", lambda: None)()
            else:
                assert not suites & each.suites
                with pytest.raises(UnsupportedError):
                    part(url)
