"""Runs each suite for each engine that joins it, on one database for each suite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.contract.engines import ENGINES, Engine
from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.registry import open_endpoint


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        test = metafunc.function.__name__
        joined = [engine for engine in ENGINES if metafunc.module.SUITE in engine.suites]
        metafunc.parametrize("engine", [_parameter(engine, test) for engine in joined], indirect=True, scope="module")


def _parameter(engine: Engine, test: str) -> Any:
    marks = [pytest.mark.xfail(reason=engine.lacks[test])] if test in engine.lacks else []
    return pytest.param(engine, id=engine.name, marks=marks)


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.param


@pytest.fixture(scope="module")
def database(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Any]:
    with engine.make(request) as made:
        yield made


@pytest.fixture
def url(database: Any) -> EndpointUrl:
    return parse_url(database.url)


@pytest.fixture
def endpoint(url: EndpointUrl) -> Iterator[Endpoint]:
    with closing(open_endpoint(url)) as opened:
        yield opened
