"""What can be wrong with a store is said in one line, with what to do, and without the password."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from tieout.errors import MetaStoreError
from tieout.meta import JobKind, MetaStore, database, open_store
from tieout.meta.errors import explain, explained
from tieout.meta.location import locate

NOBODY = 65534


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """Outside pytest's own directories, which another user can't enter."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o1777)
    yield directory
    directory.chmod(0o777)
    shutil.rmtree(directory)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may write everywhere, so the test is somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def refusal(url: str) -> MetaStoreError:
    with pytest.raises(MetaStoreError) as refused:
        open_store(url)
    error = refused.value
    assert error.hint
    assert "\n" not in str(error)
    assert error.__cause__ is None or isinstance(error.__cause__, OSError)
    assert error.__suppress_context__
    return error


class TestFiles:
    def test_a_directory_that_can_not_be_written(self, public_directory: Path) -> None:
        public_directory.chmod(0o555)
        with without_privileges():
            error = refusal(f"sqlite:///{public_directory}/meta.db")
            below = refusal(f"sqlite:///{public_directory}/.tieout/meta.db")
        assert error.message == f"the meta store can't be written: {public_directory}/meta.db"
        assert below.message == f"the meta store can't be written: {public_directory}/.tieout/meta.db"

    def test_a_store_that_can_only_be_read(self, public_directory: Path) -> None:
        url = f"sqlite:///{public_directory}/meta.db"
        with open_store(url):
            (public_directory / "meta.db").chmod(0o440)
        public_directory.chmod(0o555)
        with without_privileges():
            assert refusal(url).message.startswith("the meta store can't be ")

    def test_a_store_that_turns_read_only(self, public_directory: Path) -> None:
        file = public_directory / "meta.db"
        with without_privileges(), open_store(f"sqlite:///{file}"):
            pass
        file.chmod(0o444)
        with without_privileges(), open_store(f"sqlite:///{file}") as store:
            with pytest.raises(MetaStoreError, match="the meta store can't be written"):
                store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={})

    @pytest.mark.parametrize(
        "content", [b"These are not the pages you are looking for. " * 200, b"SQLite format 3\0" * 99]
    )
    def test_a_file_that_is_no_database(self, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "meta.db"
        file.write_bytes(content)
        error = refusal(f"sqlite:///{file}")
        assert error.message == f"the meta store's file is damaged or is not a database: {file}"
        assert file.read_bytes() == content

    def test_a_store_with_damaged_pages(self, tmp_path: Path) -> None:
        file = tmp_path / "meta.db"
        with open_store(f"sqlite:///{file}") as store:
            for _ in range(50):
                store.jobs.create(JobKind.VERIFICATION, source="a" * 500, target="b", request={})
        content = bytearray(file.read_bytes())
        content[4096:] = b"\x5a" * (len(content) - 4096)
        file.write_bytes(bytes(content))
        with pytest.raises(MetaStoreError, match="is damaged"), open_store(f"sqlite:///{file}") as store:
            store.jobs.list()

    def test_a_directory_in_place_of_the_file(self, tmp_path: Path) -> None:
        assert refusal(f"sqlite:///{tmp_path}").message == f"the meta store can't be opened: {tmp_path}"

    def test_a_file_in_place_of_the_directory(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        url = f"sqlite:///{tmp_path}/file/meta.db"
        assert refusal(url).message == f"the meta store can't be opened: {tmp_path}/file/meta.db"

    def test_a_directory_deleted_while_in_use(self, store: MetaStore, url: str) -> None:
        shutil.rmtree(Path(url.removeprefix("sqlite:///")).parent)
        with pytest.raises(MetaStoreError, match="was moved or deleted while in use"):
            store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={})
        with pytest.raises(MetaStoreError, match="was moved or deleted while in use"):
            store.jobs.list()

    def test_a_store_that_another_process_holds(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(database, "WAIT_SECONDS", 0.1)
        with open_store(url) as store:
            other = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(MetaStoreError, match="is locked by another process"):
                store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={})
            assert store.jobs.list() == []  # to read needs no turn
            other.execute("ROLLBACK")
            store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={})
            other.close()


class TestServers:
    @pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
    def test_nobody_listens(self, scheme: str) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        error = refusal(f"{scheme}://me:hunter2hunter2@127.0.0.1:{port}/meta")
        assert error.message == f"the meta store's server can't be reached: {scheme}://me:***@127.0.0.1:{port}/meta"
        assert error.hint is not None
        assert "refused" in error.hint
        assert "hunter2" not in repr(error)

    @pytest.mark.parametrize("url", ["mysql://h..x/d", "mysql://h/d?ssl_ca=/no/such/file", "postgresql://h..x/d"])
    def test_what_can_not_be_connected_to_at_all(self, url: str) -> None:
        assert "can't be reached" in refusal(url).message

    @pytest.mark.parametrize(
        ("number", "words"),
        [
            (1045, "refused the user or the password"),
            (1049, "database or schema doesn't exist"),
            (1114, "disk is full"),
            (1205, "is locked"),
            (1142, "may not create or write tables"),
            (1290, "server is read-only"),
            (1153, "larger than the meta store's server takes"),
            (2013, "can't be reached"),
            (1364, "failed: Field 'x' doesn't have a default value"),
        ],
    )
    def test_the_numbers_of_mysql(self, number: int, words: str) -> None:
        from pymysql.err import OperationalError as Raised

        error = explain(Raised(number, "Field 'x' doesn't have a default value"), locate("mysql://me:pw@h/d"))
        assert words in error.message

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("DiskFull", "disk is full"),
            ("LockNotAvailable", "is locked"),
            ("InsufficientPrivilege", "may not create or write tables"),
            ("ReadOnlySqlTransaction", "server is read-only"),
            ("AdminShutdown", "can't be reached"),
            ("InvalidPassword", "refused the user or the password"),
            ("InvalidCatalogName", "database or schema doesn't exist"),
            ("ConnectionFailure", "can't be reached"),
            ("NotNullViolation", "failed: boom"),
        ],
    )
    def test_the_states_of_postgresql(self, name: str, words: str) -> None:
        import psycopg.errors

        error = explain(getattr(psycopg.errors, name)("boom\nDETAIL: a row"), locate("postgresql://me:pw@h/d"))
        assert words in error.message
        assert "DETAIL" not in str(error)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('FATAL:  password authentication failed for user "me"', "refused the user or the password"),
            ("fe_sendauth: no password supplied", "refused the user or the password"),
            ('FATAL:  role "me" does not exist', "refused the user or the password"),
            ('FATAL:  database "d" does not exist', "database or schema doesn't exist"),
            ("server closed the connection unexpectedly", "can't be reached"),
        ],
    )
    def test_the_words_of_libpq(self, text: str, words: str) -> None:
        import psycopg

        assert words in explain(psycopg.OperationalError(text), locate("postgresql://me:pw@h/d")).message

    def test_a_password_in_a_drivers_words_is_hidden(self) -> None:
        location = locate("mysql://me:correct-horse@h/d")
        raised = OperationalError("INSERT …", None, Exception("can't use 'correct-horse' here"))
        with pytest.raises(MetaStoreError, match=r"can't use '\*\*\*' here"), explained(location):
            raise raised
