"""TLS with real servers: whom a connection trusts, and that nothing is sent in plain text that should not be."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.servers.certificates import Authority, Certificate
from tests.servers.mariadb import MariaDB, start_mariadb
from tests.servers.postgres import Postgres, start_postgres
from tests.servers.server import Database
from tieout.config.urls import parse_url
from tieout.connectors.mysql import connection as mysql
from tieout.connectors.mysql import errors as mysql_errors
from tieout.connectors.postgres import connection as postgres
from tieout.connectors.postgres import errors as postgres_faults
from tieout.errors import AccessError, ConfigError, TieoutError
from tieout.meta import open_store


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def ours(directory: Path) -> Authority:
    return Authority(directory, "ours")


@pytest.fixture(scope="module")
def client(ours: Authority) -> Certificate:
    return ours.sign("client")


@pytest.fixture
def trusted(ours: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's store has the server's authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(ours.file))


@pytest.fixture(scope="module")
def mariadb_tls(ours: Authority) -> Iterator[MariaDB]:
    """Its certificate is for 127.0.0.1, and for no other name of this machine."""
    each = ours.sign("mariadb", "127.0.0.1")
    # Not below pytest's own directory, which is nobody else's: the server runs under another account.
    with tempfile.TemporaryDirectory(prefix="tieout-tls-") as shared:
        Path(shared).chmod(0o755)
        settings = {}
        for option, file in {"ssl-cert": each.file, "ssl-key": each.key, "ssl-ca": ours.file}.items():
            Path(shared, option).write_bytes(file.read_bytes())
            settings[option] = str(Path(shared, option))
        server = start_mariadb(time_zone="+00:00", server_id=9, settings=settings)
        yield server
        server.stop()


@pytest.fixture
def mysql_tls(mariadb_tls: MariaDB) -> Iterator[Database]:
    with mariadb_tls.fresh_database() as database:
        yield database


def cipher(url: str) -> str:
    """That of the connection, "" if it is in plain text."""
    parsed = parse_url(url)
    with mysql_errors.translated(parsed), closing(mysql.connect(parsed)) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        return str(cursor.fetchone()[1])


def of_endpoint(url: str) -> None:
    cipher(url)


def of_meta_store(url: str) -> None:
    open_store(url).close()


MYSQL = pytest.mark.parametrize("connect", [of_endpoint, of_meta_store], ids=["endpoint", "meta store"])
Connect = Callable[[str], None]


class TestMariaDB:
    def test_a_client_s_certificate_alone_means_tls(
        self, mysql_tls: Database, client: Certificate, trusted: None
    ) -> None:
        assert cipher(f"{mysql_tls.url}?ssl_cert={client.file}&ssl_key={client.key}") != ""

    @MYSQL
    def test_and_tls_with_a_server_that_is_known(
        self, connect: Connect, mysql_tls: Database, client: Certificate
    ) -> None:
        with pytest.raises(TieoutError, match="CERTIFICATE_VERIFY_FAILED"):
            connect(f"{mysql_tls.url}?ssl_cert={client.file}&ssl_key={client.key}")

    @MYSQL
    def test_the_system_s_authorities_are_asked(self, connect: Connect, mysql_tls: Database, trusted: None) -> None:
        connect(f"{mysql_tls.url}?ssl_mode=verify-identity")

    @MYSQL
    def test_and_the_name_is_checked(self, connect: Connect, mysql_tls: Database, trusted: None) -> None:
        elsewhere = mysql_tls.url.replace("127.0.0.1", "localhost")
        with pytest.raises(TieoutError, match="Hostname mismatch"):
            connect(f"{elsewhere}?ssl_mode=verify-identity")

    def test_a_stranger_s_certificate_is_nothing_to_try_again(self, mysql_tls: Database) -> None:
        with pytest.raises(AccessError, match="check its host, ssl_ca and ssl_mode"):
            cipher(f"{mysql_tls.url}?ssl_mode=verify-identity")

    @MYSQL
    def test_an_authority_of_the_user_s(self, connect: Connect, mysql_tls: Database, ours: Authority) -> None:
        connect(f"{mysql_tls.url}?ssl_ca={ours.file}")

    def test_none_means_plain_text(self, mysql_tls: Database) -> None:
        assert cipher(mysql_tls.url) == ""
        assert cipher(f"{mysql_tls.url}?ssl_mode=required") != ""


@pytest.fixture(scope="module")
def postgres_tls(ours: Authority, directory: Path) -> Iterator[Postgres]:
    each = ours.sign("postgres", "127.0.0.1")
    server = start_postgres()
    made = {
        "ssl_cert_file": server.process.write("cert.pem", each.file.read_text()),
        "ssl_key_file": server.process.write("key.pem", each.key.read_text()),
        "ssl_ca_file": server.process.write("ca.pem", ours.file.read_text()),
    }
    for name, file in made.items():
        server.execute(None, f"ALTER SYSTEM SET {name} = '{file}'")
    server.execute(None, "ALTER SYSTEM SET ssl = on")
    server.execute(None, "SELECT pg_reload_conf()")
    server.process.wait_until(lambda: encrypted(f"{server.url('postgres')}?sslmode=require") or 1 / 0)
    yield server
    server.stop()


def encrypted(url: str) -> bool:
    parsed = parse_url(url)
    with postgres_faults.translated(parsed), closing(postgres.connect(parsed, "tieout")) as connection:
        row: Any = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
        return bool(row[0])


def of_postgres_endpoint(url: str) -> None:
    assert encrypted(url)


POSTGRES = pytest.mark.parametrize("connect", [of_postgres_endpoint, of_meta_store], ids=["endpoint", "meta store"])


@pytest.fixture
def pg_tls(postgres_tls: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv("HOME", str(tmp_path))  # libpq looks for authorities there
    with postgres_tls.fresh_database() as database:
        yield database


class TestPostgreSQL:
    @POSTGRES
    def test_a_client_s_certificate_alone_means_a_server_that_is_known(
        self, connect: Connect, pg_tls: Database, client: Certificate
    ) -> None:
        with pytest.raises(TieoutError, match="root certificate file"):
            connect(f"{pg_tls.url}?sslcert={client.file}&sslkey={client.key}")

    @POSTGRES
    def test_an_authority_is_given_to_be_asked(self, connect: Connect, pg_tls: Database, tmp_path: Path) -> None:
        with pytest.raises(TieoutError, match="certificate verify failed"):
            connect(f"{pg_tls.url}?sslrootcert={Authority(tmp_path, 'another').file}")

    @POSTGRES
    def test_and_lets_in_what_it_signed(
        self, connect: Connect, pg_tls: Database, ours: Authority, client: Certificate
    ) -> None:
        connect(f"{pg_tls.url}?sslrootcert={ours.file}&sslcert={client.file}&sslkey={client.key}")

    @POSTGRES
    def test_the_system_s_authorities_check_the_name(self, connect: Connect, pg_tls: Database, trusted: None) -> None:
        connect(f"{pg_tls.url}?sslrootcert=system")
        with pytest.raises(TieoutError, match="does not match host name"):
            connect(pg_tls.url.replace("127.0.0.1", "localhost") + "?sslrootcert=system")


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("mysql://h/d?ssl_mode=disabled&ssl_cert=c", "ssl_mode=disabled sends everything in plain text"),
        ("mysql://h/d?ssl_mode=disabled&ssl_ca=c", "ssl_mode=disabled sends everything in plain text"),
        ("mysql://h/d?ssl_mode=verify-ca", "ssl_mode=verify-ca needs ssl_ca"),
        ("mysql://h/d?ssl_key=k&ssl_ca=c", "ssl_key is given without ssl_cert"),
        ("postgresql://h/d?sslmode=prefer&sslcert=c", "sslmode=prefer may send everything in plain text"),
        ("postgresql://h/d?sslmode=disable&sslrootcert=c", "sslmode=disable may send everything in plain text"),
        ("postgresql://h/d?sslkey=k", "sslkey is given without sslcert"),
    ],
)
def test_what_contradicts_itself_is_refused(query: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_url(query)
