"""A server that a client does not know asks it for its password: it gets none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.certificates import Authority
from tests.servers.rogue import rogue_mysql, rogue_postgres
from tieout.config.urls import parse_url
from tieout.connectors.mysql import connection as mysql
from tieout.connectors.mysql import snapshot
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.postgres import connection as postgres
from tieout.connectors.postgres.errors import translated
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.errors import TieoutError
from tieout.meta import open_store
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.keys import EVERYTHING
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName

PASSWORD = "hunter2hunter2"
CACHING, SHA256 = "caching_sha2_password", "sha256_password"
PLUGINS = ["mysql_clear_password", "dialog", CACHING, SHA256]
AT_ONCE = pytest.mark.parametrize("at_once", [False, True], ids=["switched", "at once"])

_READ = """
import sys
from tieout.config.urls import parse_url
from tieout.connectors.mysql.snapshot import arrow_batches
from tieout.errors import TieoutError
try:
    list(arrow_batches(parse_url(sys.stdin.read()), "SELECT 1", None))
except TieoutError:
    print("TieoutError")
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"), "authority")


def refusal(url: str) -> str:
    with pytest.raises(Exception) as caught:
        mysql.connect(parse_url(url))
    return str(caught.value)


@AT_ONCE
@pytest.mark.parametrize("plugin", PLUGINS)
def test_in_plain_text(plugin: str, at_once: bool) -> None:
    with rogue_mysql(plugin, at_once=at_once) as rogue:
        told = refusal(f"mysql://me:{PASSWORD}@127.0.0.1:{rogue.port}/shop")
    assert rogue.heard, "the rogue was not reached"
    assert not rogue.knows(PASSWORD)
    # Greeted by sha256_password, a client begins by the other one.
    named = CACHING if at_once and plugin == SHA256 else plugin
    assert f"asks for the password itself ({named})" in told
    assert "ssl_mode=verify-identity" in told
    assert PASSWORD not in told


@AT_ONCE
@pytest.mark.parametrize("plugin", PLUGINS)
def test_by_tls_that_nobody_checks(plugin: str, at_once: bool, authority: Authority) -> None:
    with rogue_mysql(plugin, authority.sign("server", "127.0.0.1"), at_once=at_once) as rogue:
        told = refusal(f"mysql://me:{PASSWORD}@127.0.0.1:{rogue.port}/shop?ssl_mode=required")
    assert rogue.heard, "the rogue was not reached"
    assert not rogue.knows(PASSWORD)
    assert "asks for the password itself" in told


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_server_that_is_known_gets_it(plugin: str, authority: Authority) -> None:
    with rogue_mysql(plugin, authority.sign("server", "127.0.0.1")) as server:
        refusal(f"mysql://me:{PASSWORD}@127.0.0.1:{server.port}/shop?ssl_mode=verify-identity&ssl_ca={authority.file}")
    assert server.knows(PASSWORD)


@AT_ONCE
@pytest.mark.parametrize("query", ["", "?ssl_mode=required"])
def test_a_server_that_remembers_the_account_needs_none(query: str, at_once: bool, authority: Authority) -> None:
    with rogue_mysql(CACHING, authority.sign("server", "127.0.0.1"), at_once=at_once, cached=PASSWORD) as server:
        told = refusal(f"mysql://me:{PASSWORD}@127.0.0.1:{server.port}/shop{query}")
    assert server.heard[-1] == b"\x03SET NAMES utf8mb4", "it is logged in"
    assert not server.knows(PASSWORD)
    assert "asks for the password" not in told


def test_a_wrong_password_is_not_remembered() -> None:
    with rogue_mysql(CACHING, cached="another") as server:
        told = refusal(f"mysql://me:{PASSWORD}@127.0.0.1:{server.port}/shop")
    assert "after one such login, or one by its socket" in told


def test_rows_of_mysql_are_not_read_by_the_driver_that_gives_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (Column("id", LogicalType(TypeName.INTEGER, "bigint")),)
    scan = Scan(Table(TableName("shop", "t"), columns, ("id",)), (ScanColumn(columns[0], Kind(Form.INTEGER)),), (0,))
    with rogue_mysql(CACHING) as rogue:
        # Waited for while its rogue can't answer, that driver would hang for half a minute instead of failing.
        monkeypatch.setattr(snapshot, "arrow_batches", lambda *_: pytest.fail("read by connectorx"))
        reader = snapshot.MySQLReader(parse_url(f"mysql://me:{PASSWORD}@127.0.0.1:{rogue.port}/shop"), ServerKind.MYSQL)
        with pytest.raises(TieoutError, match="asks for the password itself"):
            list(reader.read(scan, EVERYTHING))
    assert rogue.heard, "the rogue was not reached"
    assert not rogue.knows(PASSWORD)


@pytest.mark.thorough  # it tries again for half a minute
def test_the_driver_for_rows_gives_it_to_nobody() -> None:
    """By a process of its own: that driver lets no other thread of this one run, such as the rogue."""
    with rogue_mysql("mysql_clear_password") as rogue:
        url = f"mysql://me:{PASSWORD}@127.0.0.1:{rogue.port}/shop"
        ended = subprocess.run(
            [sys.executable, "-c", _READ], input=url, capture_output=True, text=True, check=False, timeout=120
        )
    assert "TieoutError" in ended.stdout, ended.stderr
    assert rogue.heard, "the rogue was not reached"
    assert not rogue.knows(PASSWORD)


@AT_ONCE
@pytest.mark.parametrize("query", ["", "?ssl_mode=required", "?ssl_mode=disabled"])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_meta_store_s(plugin: str, query: str, at_once: bool, authority: Authority) -> None:
    certificate = authority.sign("server", "127.0.0.1")
    with rogue_mysql(plugin, certificate, at_once=at_once) as rogue, pytest.raises(TieoutError) as caught:
        open_store(f"mysql://me:{PASSWORD}@127.0.0.1:{rogue.port}/meta{query}")
    assert rogue.heard, "the rogue was not reached"
    assert not rogue.knows(PASSWORD)
    assert "asks for the password itself" in str(caught.value)


@pytest.mark.parametrize("query", ["", "?sslmode=prefer"])
def test_postgresql_s_way_to_ask(query: str, tmp_path: Path) -> None:
    with rogue_postgres() as rogue:
        url = parse_url(f"postgresql://me:{PASSWORD}@127.0.0.1:{rogue.port}/shop{query}")
        with pytest.raises(TieoutError) as caught, translated(url):
            postgres.connect(url, "tieout")
        assert not rogue.knows(PASSWORD)
        assert "requested a cleartext password" in str(caught.value)
        assert "sslmode=verify-full" in str(caught.value)
        with pytest.raises(TieoutError):
            open_store(f"postgresql://me:{PASSWORD}@127.0.0.1:{rogue.port}/meta{query}")
        assert not rogue.knows(PASSWORD)
