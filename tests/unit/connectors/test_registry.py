"""A kind of URL that nothing can open says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tieout.config import EndpointUrl, parse_url
from tieout.connectors import registry
from tieout.errors import UnsupportedError


@pytest.mark.parametrize("open_it", [registry.open_endpoint, registry.open_checker, registry.open_source])
def test_what_is_planned_is_not_available_yet(open_it: Callable[[EndpointUrl], object]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        open_it(parse_url("kv:///pairs.kv"))
    assert str(caught.value) == "kv:// is not available yet"


def test_what_only_spark_reads_has_no_connector() -> None:
    with pytest.raises(UnsupportedError) as caught:
        registry.open_checker(parse_url("lake:///orders"))
    assert str(caught.value) == "lake:// is not served by a connector"
