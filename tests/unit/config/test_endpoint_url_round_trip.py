"""Whatever the user, password and database are, a URL gives them back and never shows the password."""

from __future__ import annotations

import contextlib
from urllib.parse import quote

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tieout.config import EndpointUrl, parse_url, scrub
from tieout.config.secrets import SecretRegistry
from tieout.errors import ConfigError

anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
# A password that no other part of a URL can hold by chance.
passwords = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(lambda text: f"ⓟ{text}")
hosts = st.sampled_from(["localhost", "db-1.example.com", "10.0.0.7", "::1", "fe80::1%eth0", "/var/run/postgresql"])
params = st.dictionaries(st.sampled_from(["sslrootcert", "sslcert", "socket"]), anything)

servers = st.builds(
    EndpointUrl,
    scheme=st.just("postgresql"),
    user=st.none() | anything,
    password=st.none() | passwords,
    host=hosts,
    port=st.integers(1, 65535),
    database=st.none() | anything,
    params=params,
    schema=st.none() | anything,
)
files = st.builds(EndpointUrl, scheme=st.sampled_from(["sqlite", "lake", "kv"]), path=anything.map(lambda t: f"/ⓟ{t}"))
relative_files = st.builds(
    EndpointUrl, scheme=st.sampled_from(["sqlite", "lake"]), path=anything.map(lambda t: f"ⓟ{t}")
)

light = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@light
@given(servers)
@example(EndpointUrl("mysql", None, "ⓟ:@/?#[]%41 +&=", "h", 1, "a/b?c#d@e", params={"ssl_ca": "&=+%"}))
def test_a_url_gives_back_its_parts_and_hides_its_password(url: EndpointUrl) -> None:
    text = url.reveal()
    assert parse_url(text) == url
    if url.password is not None:
        for shown in (url.redacted(), str(url), repr(url), f"{url!r:>40}", scrub(text)):
            assert "ⓟ" not in shown
            assert quote("ⓟ") not in shown
            assert "***" in shown
        assert parse_url(url.redacted()).password == "***"


@light
@given(files | relative_files)
@example(EndpointUrl("lake", path="/s3a:/x"))
@example(EndpointUrl("lake", path="s3a://bucket/x y"))
@example(EndpointUrl("lake", path="../x"))
def test_a_path_comes_back(url: EndpointUrl) -> None:
    assert parse_url(url.reveal()) == url


@light
@given(passwords)
def test_a_known_password_is_scrubbed_however_it_is_encoded(password: str) -> None:
    registry = SecretRegistry()  # its own: one that knows hundreds of passwords is slow
    registry.register(password)
    for spelling in (password, quote(password, safe=""), quote(password), repr(password)):
        assert "ⓟ" not in registry.scrub(f"Access denied ({spelling})")
        assert quote("ⓟ") not in registry.scrub(f"Access denied ({spelling})")


@light
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_no_text_breaks_the_parser(text: str) -> None:
    for url in (text, f"mysql://{text}", f"lake:///{text}", f"sqlite:///{text}", f"mysql://h/d?{text}"):
        with contextlib.suppress(ConfigError):
            parse_url(url)
