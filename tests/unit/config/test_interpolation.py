"""Variables in configuration text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tieout.config import parse_url, scrub
from tieout.config.interpolation import InterpolationError, interpolate

ENVIRONMENT = {"HOST": "db1", "EMPTY": "", "TRICKY": "a$b${c}"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("${HOST}", "db1"),
        ("at ${HOST}:${HOST}", "at db1:db1"),
        ("${NONE:-fallback}", "fallback"),
        ("${NONE:-}", ""),
        ("${HOST:-fallback}", "db1"),
        ("${EMPTY:-fallback}", "fallback"),
        ("[${EMPTY}]", "[]"),
        ("${NONE:-a:-b $ c}", "a:-b $ c"),
        ("$$HOST $${HOST} 5$$", "$HOST ${HOST} 5$"),
        ("name ~ '^a$'", "name ~ '^a$'"),
        ("${TRICKY}", "a$b${c}"),
    ],
)
def test_variables_are_put_in(text: str, expected: str) -> None:
    assert interpolate(text, ENVIRONMENT) == expected


def test_every_variable_that_is_not_set_is_told() -> None:
    with pytest.raises(InterpolationError) as caught:
        interpolate("${A}/${HOST}/${B}", ENVIRONMENT)
    assert caught.value.problems == [
        "environment variable A is not set (set it, or write ${A:-default})",
        "environment variable B is not set (set it, or write ${B:-default})",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${A-B}", '"${A-B}" does not name a variable (write ${NAME} or ${NAME:-default})'),
        ("${}", '"${}" does not name a variable (write ${NAME} or ${NAME:-default})'),
        ("${HOST", '"${" without its "}" (write "$$" for a dollar)'),
    ],
)
def test_what_is_not_a_variable(text: str, message: str) -> None:
    with pytest.raises(InterpolationError) as caught:
        interpolate(text, ENVIRONMENT)
    assert str(caught.value) == message


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(st.characters(exclude_categories=["Cs"])))
def test_a_password_in_a_variable_needs_no_encoding(user: str, password: str) -> None:
    url = parse_url(
        interpolate("mysql://${U}:${P}@${H}/shop?ssl_ca=${C}", {"U": user, "P": password, "H": "h:1", "C": "/a@b"})
    )
    assert (url.user, url.password, url.host, url.port, url.database) == (user, password, "h", 1, "shop")
    assert url.params == {"ssl_ca": "/a@b"}


def test_a_whole_url_in_a_variable_stays_as_it_is() -> None:
    url = "mysql://ann:p%40ss@db1/shop"
    assert interpolate("${URL}", {"URL": url}) == url


def test_a_variable_that_is_named_like_a_secret_is_scrubbed() -> None:
    interpolate("${OLD_PASSWORD}", {"OLD_PASSWORD": "correct horse"})
    assert scrub("denied: correct horse") == "denied: ***"
