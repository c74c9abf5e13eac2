"""Revisions: each leads to the next, all of them to what this program works with."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect, text

from tieout.errors import MetaStoreError
from tieout.meta import JobKind, open_store
from tieout.meta.schema import HEAD, REVISIONS, VERSION_TABLE, metadata
from tieout.meta.store import migrate


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return create_engine(f"sqlite:///{tmp_path}/meta.db")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/meta.db"


def definitions(engine: Engine) -> dict[str, object]:
    """All that SQLite knows of the tables, without the words they were made with."""
    found = inspect(engine)
    return {
        table: (
            [{**column, "type": str(column["type"])} for column in found.get_columns(table)],
            found.get_pk_constraint(table),
            sorted(map(str, found.get_foreign_keys(table))),
            found.get_indexes(table),
        )
        for table in found.get_table_names()
        if table != VERSION_TABLE
    }


def test_the_known_revisions_are_those_in_the_folder() -> None:
    config = Config()
    config.set_main_option("script_location", "tieout.meta:migrations")
    script = ScriptDirectory.from_config(config)
    assert [revision.revision for revision in script.walk_revisions()][::-1] == list(REVISIONS)
    assert script.get_heads() == [HEAD]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_store_of_an_earlier_revision_is_migrated(engine: Engine, url: str, revision: str) -> None:
    with engine.begin() as connection:
        migrate(connection, to=revision)
    with open_store(url) as store:
        job = store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={})
        assert store.jobs.list() == [job]
    with engine.connect() as connection:
        assert connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}")) == HEAD
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_new_store_is_what_all_revisions_make(engine: Engine, url: str, tmp_path: Path) -> None:
    with open_store(url):
        pass
    migrated = create_engine(f"sqlite:///{tmp_path}/migrated.db")
    with migrated.begin() as connection:
        migrate(connection)
    assert definitions(engine) == definitions(migrated)


def test_a_store_of_a_newer_program_is_refused_and_left_alone(engine: Engine, url: str) -> None:
    with open_store(url) as store:
        store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={})
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(
        MetaStoreError, match=r"newer tieout wrote the meta store: .*meta\.db \(schema 9999, this one knows up to"
    ):
        open_store(url)
    with engine.begin() as connection:
        assert connection.scalar(text("SELECT count(*) FROM tieout_jobs")) == 1
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '{HEAD}'"))
    with open_store(url) as store:
        assert len(store.jobs.list()) == 1


def test_tables_of_other_programs_in_the_same_database_are_left_alone(engine: Engine, url: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE jobs (id INTEGER)"))
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('theirs')"))
    with open_store(url) as store:
        assert store.jobs.list() == []
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "theirs"
