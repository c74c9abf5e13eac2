"""A store is where its URL says, private, quick to open, and opened by many at once."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.meta.conftest import SOURCES, Child
from tieout.errors import ConfigError
from tieout.meta import DEFAULT_URL, JobKind, open_store
from tieout.meta.location import locate


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_default_is_a_private_file_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    old_mask = os.umask(0)  # a careless user's
    try:
        with open_store() as store:
            store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={})
            monkeypatch.chdir("/")  # the store stays where it was
            store.jobs.get("last")
            directory = tmp_path / ".tieout"
            assert mode(directory) == 0o700
            assert {path.name: mode(path) for path in directory.glob("meta.db*")} == {
                "meta.db": 0o600,
                "meta.db-wal": 0o600,
                "meta.db-shm": 0o600,
            }
    finally:
        os.umask(old_mask)
    assert (directory / ".gitignore").read_text() == "*\n"
    assert store.url in DEFAULT_URL


def test_a_directory_that_was_there_is_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with open_store(f"sqlite:///{tmp_path}/meta.db"):
        pass
    assert mode(tmp_path) == 0o750
    assert [path.name for path in tmp_path.iterdir()] == ["meta.db"]


def test_no_migration_is_loaded_to_open_a_new_or_a_known_store(url: str, child: Child) -> None:
    """Loading alembic takes longer than everything else here."""
    text = """
        import sys
        from tieout.meta import open_store
        for _ in range(2):
            with open_store(sys.argv[1]) as store:
                store.jobs.list()
        print([name for name in ("alembic", "pyspark", "psycopg", "pymysql") if name in sys.modules])
    """
    output, _ = child(text, url).communicate(timeout=60)
    assert output.strip() == "[]"


def test_many_may_make_the_same_store_at_once(url: str, child: Child) -> None:
    text = """
        import sys
        from tieout.meta import JobKind, open_store
        input()
        with open_store(sys.argv[1]) as store:
            print(store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={}).id)
    """
    children = [child(text, url) for _ in range(4)]
    for process in children:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ids = {process.communicate(timeout=60)[0].strip() for process in children}
    with open_store(url) as store:
        assert {job.id for job in store.jobs.list()} == ids
    assert len(ids) == 4


def test_a_copy_of_the_package_elsewhere_migrates_too(tmp_path: Path) -> None:
    """As a wheel is installed: nothing but the package's own files, used from another directory."""
    site = tmp_path / "site"
    shutil.copytree(Path(SOURCES) / "tieout", site / "tieout", ignore=shutil.ignore_patterns("__pycache__"))
    text = """
import sys
from sqlalchemy import create_engine
import tieout.meta.store as revisions
assert revisions.__file__.startswith(sys.argv[1]), revisions.__file__
with create_engine("sqlite:///empty.db").begin() as connection:
    revisions.migrate(connection)
from tieout.meta import open_store
with open_store("sqlite:///empty.db") as store:
    print(store.jobs.list())
"""
    done = subprocess.run(
        [sys.executable, "-c", text, str(site)],
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "[]", done.stderr


class TestUrls:
    @pytest.mark.parametrize(
        "url",
        ["", "meta.db", "lake:///x", "sqlite://", "sqlite:///:memory:", "mysql://h/", "postgresql://h", "oracle://h/d"],
    )
    def test_what_holds_no_store_is_refused(self, url: str) -> None:
        with pytest.raises(ConfigError):
            open_store(url)

    @pytest.mark.parametrize(
        ("url", "driver"),
        [
            ("postgresql://u:s3cret@h:1/d", "postgresql+psycopg://u:s3cret@h:1/d"),
            ("postgres://u@h/d", "postgresql+psycopg://u@h:5432/d"),
            ("mysql://u:s3cret@h/d", "mysql+pymysql://u:s3cret@h:3306/d"),
            ("mariadb://u@h/d", "mysql+pymysql://u@h:3306/d"),
        ],
    )
    def test_servers_are_reached_with_the_drivers_at_hand(self, url: str, driver: str) -> None:
        assert locate(url).url.render_as_string(hide_password=False) == driver
        assert "s3cret" not in locate(url).shown

    def test_parameters_reach_the_driver(self) -> None:
        assert locate("postgresql://h/d?sslmode=require&connect_timeout=3s&socket=/run/pg").connect_args == {
            "sslmode": "require",
            "connect_timeout": 3,
            "host": "/run/pg",
            "application_name": "tieout",
            "options": "-c search_path=pg_catalog,pg_temp",
            "prepare_threshold": None,
            "require_auth": "!password",
        }
        args = locate("mysql://h/d?ssl_ca=/ca.pem&ssl_mode=verify-identity&read_timeout=1m&socket=/run/my").connect_args
        assert args == {
            "charset": "utf8mb4",
            "connect_timeout": 10,
            "read_timeout": 60,
            "unix_socket": "/run/my",
        }
