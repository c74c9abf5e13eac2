"""A user writes a URL; Tieout knows where to go, and says what is wrong without saying the password."""

from __future__ import annotations

import pickle

import pytest
from sqlalchemy.engine import make_url

from tieout.config import EndpointUrl, parse_url, scrub
from tieout.errors import ConfigError


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_url(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "mysql://ann:s3cret@db1:3307/shop",
            EndpointUrl("mysql", "ann", "s3cret", "db1", 3307, "shop"),
        ),
        ("mysql://db1/shop", EndpointUrl("mysql", host="db1", port=3306, database="shop")),
        ("mysql://", EndpointUrl("mysql", host="localhost", port=3306)),
        ("mysql:///shop", EndpointUrl("mysql", host="localhost", port=3306, database="shop")),
        ("mariadb://db1", EndpointUrl("mysql", host="db1", port=3306)),
        ("MySQL://db1", EndpointUrl("mysql", host="db1", port=3306)),
        (" mysql://db1\n", EndpointUrl("mysql", host="db1", port=3306)),
        ("postgres://db2/shop", EndpointUrl("postgresql", host="db2", port=5432, database="shop")),
        (
            "postgresql://app@db2/shop?schema=public&sslmode=verify-full",
            EndpointUrl(
                "postgresql", "app", None, "db2", 5432, "shop", params={"sslmode": "verify-full"}, schema="public"
            ),
        ),
        ("mysql://a%40b:p%2Fq%3A%40@h/d%20b", EndpointUrl("mysql", "a@b", "p/q:@", "h", 3306, "d b")),
        ("mysql://ann:p@ss:word#1@h/d", EndpointUrl("mysql", "ann", "p@ss:word#1", "h", 3306, "d")),
        ("mysql://ann:@h", EndpointUrl("mysql", "ann", "", "h", 3306)),
        ("mysql://[::1]:3307/d", EndpointUrl("mysql", host="::1", port=3307, database="d")),
        ("postgresql://u:p@[fe80::1%25eth0]/d", EndpointUrl("postgresql", "u", "p", "fe80::1%eth0", 5432, "d")),
        (
            "mysql://u@localhost/d?socket=/run/mysqld/mysqld.sock",
            EndpointUrl("mysql", "u", None, "localhost", 3306, "d", params={"socket": "/run/mysqld/mysqld.sock"}),
        ),
        ("sqlite:///rel.db", EndpointUrl("sqlite", path="rel.db")),
        ("sqlite:////abs/file.db", EndpointUrl("sqlite", path="/abs/file.db")),
        ("sqlite:///a%3Fb.db?connections=5", EndpointUrl("sqlite", path="a?b.db", params={"connections": "5"})),
        (
            "lake:///backup/orders?format=parquet",
            EndpointUrl("lake", path="/backup/orders", params={"format": "parquet"}),
        ),
        ("lake:////backup/orders", EndpointUrl("lake", path="/backup/orders")),
        ("lake://./orders", EndpointUrl("lake", path="orders")),
        ("lake://../orders", EndpointUrl("lake", path="../orders")),
        ("lake:///s3a://bucket/orders", EndpointUrl("lake", path="s3a://bucket/orders")),
        ("spark:///main.sales", EndpointUrl("spark", database="main.sales")),
        ("spark:///", EndpointUrl("spark")),
        (
            "kv:///pairs.kv?descriptor=tables.json",
            EndpointUrl("kv", path="/pairs.kv", params={"descriptor": "tables.json"}),
        ),
    ],
)
def test_what_a_url_says(text: str, expected: EndpointUrl) -> None:
    url = parse_url(text)
    assert url == expected
    assert parse_url(url.reveal()) == expected


@pytest.mark.parametrize("text", ["sqlite:///rel.db", "sqlite:////abs/f.db", "sqlite:///a/b%20c.db"])
def test_sqlite_paths_are_those_of_sqlalchemy(text: str) -> None:
    assert parse_url(text).path == make_url(text).database
    assert make_url(parse_url(text).reveal()).database == make_url(text).database


def test_limits_and_time_outs_are_numbers() -> None:
    url = parse_url("mysql://h/d?connections=4&connect_timeout=500ms&read_timeout=2m&socket=/s")
    assert (url.connections, url.connect_timeout, url.read_timeout, url.socket) == (4, 0.5, 120.0, "/s")
    assert (url.params["connect_timeout"], url.params["read_timeout"]) == ("0.5", "120")
    url = parse_url("mysql://h/d")
    assert (url.connections, url.connect_timeout, url.read_timeout, url.socket) == (None, None, None, None)


def test_tls_modes_are_known_in_the_servers_own_spelling() -> None:
    assert parse_url("mysql://h/d?ssl_mode=VERIFY_IDENTITY").params == {"ssl_mode": "verify-identity"}


def test_a_url_is_shown_without_its_password() -> None:
    url = parse_url("mysql://ann:s3cret@db1/shop?connections=4")
    shown = "mysql://ann:***@db1:3306/shop?connections=4"
    assert url.redacted() == str(url) == f"{url}" == shown
    assert repr(url) == f"EndpointUrl('{shown}')"
    assert url.reveal() == "mysql://ann:s3cret@db1:3306/shop?connections=4"


def test_a_parameter_with_the_name_of_a_secret_is_shown_without_its_value() -> None:
    url = EndpointUrl("postgresql", host="h", port=5432, params={"sslpassword": "s3cret", "sslkey": "k.pem"})
    assert url.redacted() == "postgresql://h:5432/?sslpassword=***&sslkey=k.pem"


def test_a_parsed_password_is_scrubbed_from_messages() -> None:
    parse_url("mysql://ann:hunt%65r%202@h/d")
    assert scrub("denied: hunter 2 (hunt%65r%202)") == "denied: *** (***)"


def test_a_url_travels_to_executors() -> None:
    url = parse_url("postgresql://ann:s3cret@[::1]/d?schema=s&connections=2")
    assert pickle.loads(pickle.dumps(url)) == url
    assert hash(url) == hash(parse_url(url.reveal()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mysq://h/d", 'unknown kind of endpoint "mysq" (did you mean "mysql"?)'),
        ("postgre://h/d", 'unknown kind of endpoint "postgre" (did you mean "postgres"?)'),
        ("mysql+pymysql://h/d", 'unknown kind of endpoint "mysql+pymysql" (did you mean "mysql"?)'),
        ("jdbc:postgresql://h/d", 'unknown kind of endpoint "jdbc:postgresql" (did you mean "postgresql"?)'),
        (
            "oracle://h/d",
            'unknown kind of endpoint "oracle" (known: mysql, postgresql, sqlite, duckdb, debezium, lake, spark, kv)',
        ),
        (
            "shop",
            'not an endpoint URL: "shop" (a URL is like mysql://user@host/database or sqlite:///file.db)',
        ),
        ("sqlite://rel.db", "a sqlite URL has no host: it takes three slashes (write sqlite:///rel.db)"),
        ("lake://data/orders", "a lake URL has no host: it takes three slashes (write lake:///data/orders)"),
        ("sqlite://", "the sqlite URL has no path (write sqlite:///path)"),
        (
            "sqlite:///:memory:",
            "an in-memory database can't be reached by other processes (write sqlite:///file.db)",
        ),
        (
            "mysql://h/d?conections=3",
            '"conections" is not a parameter of mysql URLs (did you mean "connections"?)',
        ),
        (
            "lake:///d?sslmode=require",
            '"sslmode" is not a parameter of lake URLs (known: connections, format)',
        ),
        ("postgresql://h/d?read_timeout=5s", '"read_timeout" is not available yet for postgresql URLs'),
        ("sqlite:///d?connect_timeout=5s", '"connect_timeout" is not available yet for sqlite URLs'),
        (
            "spark:///d?connect_timeout=5s&read_timeout=5s",
            '"connect_timeout" is not available yet for spark URLs; "read_timeout" is not available yet for spark URLs',
        ),
        ("mysql://h/d?connections=0", '"connections" should be a whole number of at least 1, not "0"'),
        ("mysql://h/d?connections=two", '"connections" should be a whole number of at least 1, not "two"'),
        (
            "mysql://h/d?read_timeout=soon",
            '"read_timeout" "soon" is not a duration (write 500ms, 10s, 30m, 2h or 1d)',
        ),
        ("mysql://h/d?read_timeout=0", '"read_timeout" should be more than 0, not "0"'),
        ("mysql://h/d?ssl_ca=", '"ssl_ca" needs a value'),
        ("mysql://h/d?ssl_ca=a&ssl_ca=b", '"ssl_ca" is given twice'),
        (
            "mysql://h/d?ssl_mode=verify_idenity",
            '"ssl_mode" does not know "verify_idenity" (did you mean "verify-identity"?)',
        ),
        ("lake:///d?format=parqet", '"format" does not know "parqet" (did you mean "parquet"?)'),
        (
            "mysql://h/d?conections=3&ssl_mod=x",
            '"conections" is not a parameter of mysql URLs (did you mean "connections"?); '
            '"ssl_mod" is not a parameter of mysql URLs (did you mean "ssl_mode"?)',
        ),
        ("mysql://h/a/b", 'the mysql URL has more than one name in its path (in a name, write "/" as %2F)'),
        ("mysql://%ff:p@h/d", "the user in the URL is not percent-encoded UTF-8"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, message: str) -> None:
    assert refusal(text) == message


ENCODE = '(in a user or password, write "@" as %40, ":" as %3A, "/" as %2F and "?" as %3F)'


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("mysql://ann:hun/ter2@h/d", f"the port of the mysql URL is not a number from 1 to 65535 {ENCODE}"),
        ("mysql://ann:12/hunter2@h", f'the path of the mysql URL contains an "@" {ENCODE}'),
        ("mysql://ann:1?hunter2@h/d", "something after the question mark is not a parameter of mysql URLs (known: "),
        ("mysql://ann:hunter2", f"the port of the mysql URL is not a number from 1 to 65535 {ENCODE}"),
        ("mysql://ann:p@h:hunter2:1", "the host of the mysql URL can't be read"),
        ("mysql:/ann:hunter2@h/d", "not an endpoint URL (a URL is like"),
        ("mysq://ann:hunter2@h/d", 'unknown kind of endpoint "mysq" (did you mean'),
        ("ann:hunter2@mysql://h/d", "unknown kind of endpoint (known: "),
        ("sqlite://ann:hunter2@h/d", "a sqlite URL has no host: it takes three slashes (write sqlite:///path)"),
        ("mysql://h/d?password=hunter2", '"password" is not a parameter of mysql URLs'),
    ],
)
def test_no_refusal_repeats_a_password(text: str, start: str) -> None:
    message = refusal(text)
    assert message.startswith(start)
    assert "hunter2" not in message
    assert "ter2" not in message
