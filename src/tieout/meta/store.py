"""The meta store: the truth about jobs, what they found, and what is wanted of them."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from tieout.meta.checks import CheckedPositions, CheckUnits
from tieout.meta.database import Database
from tieout.meta.differences import Differences
from tieout.meta.failures import Failures
from tieout.meta.job_tables import JobTables
from tieout.meta.jobs import Jobs
from tieout.meta.location import DEFAULT_URL, locate
from tieout.meta.moves import Moves
from tieout.meta.ranges import Ranges
from tieout.meta.repairs import Repairs
from tieout.meta.revisions import bring_up_to_date


class MetaStore:
    """An open store, by noun. Any number of processes and threads may use one store at the same time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.url = database.location.shown
        self.jobs = Jobs(database)
        self.tables = JobTables(database)
        self.ranges = Ranges(database)
        self.differences = Differences(database)
        self.repairs = Repairs(database)
        self.moves = Moves(database)
        self.failures = Failures(database)
        self.check_units = CheckUnits(database)
        self.checked = CheckedPositions(database)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(url: str = DEFAULT_URL) -> MetaStore:
    """Opens the store at `url`, made and migrated as needed. Raises MetaStoreError (ConfigError for the URL)."""
    database = Database(locate(url))
    try:
        bring_up_to_date(database)
    except BaseException:
        database.close()
        raise
    return MetaStore(database)
