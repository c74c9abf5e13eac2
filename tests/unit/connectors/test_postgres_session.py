"""What sessions on PostgreSQL begin with."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from tieout.config.urls import parse_url
from tieout.connectors.postgres.connection import PATH, libpq_url, require_path, set_path
from tieout.errors import UnsupportedError


def options(**settings: str | None) -> str:
    url = libpq_url(parse_url("postgresql://u@h/d"), "test", settings)
    return parse_qs(urlsplit(url).query)["options"][0]


def test_names_are_looked_up_in_the_server_s_own_schema() -> None:
    assert f"-c search_path={PATH}" in options()
    assert "search_path" not in options(search_path=None)


def test_a_session_that_lost_its_settings_is_refused() -> None:
    require_path(PATH)
    with pytest.raises(UnsupportedError, match="search_path"):
        require_path('"$user", public')


def test_a_path_of_users_stays_in_its_quotes() -> None:
    assert set_path('pg_catalog, "o\'ne"').endswith("'search_path', 'pg_catalog, \"o''ne\"', false)")
