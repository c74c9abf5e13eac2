"""The meta store: jobs, ranges, differences and repairs, kept where every terminal sees them."""

from tieout.meta.location import DEFAULT_URL
from tieout.meta.ownership import HEARTBEAT_SECONDS
from tieout.meta.records import (
    ChangeAction,
    ChangeOutcome,
    ChangeState,
    FinishedRange,
    Job,
    JobKind,
    JobState,
    JobTable,
    RangeState,
    RepairChange,
    RepairPlan,
    RepairState,
    Side,
    StoredRange,
    TableState,
    Wanted,
)
from tieout.meta.store import MetaStore, open_store

__all__ = [
    "DEFAULT_URL",
    "HEARTBEAT_SECONDS",
    "ChangeAction",
    "ChangeOutcome",
    "ChangeState",
    "FinishedRange",
    "Job",
    "JobKind",
    "JobState",
    "JobTable",
    "MetaStore",
    "RangeState",
    "RepairChange",
    "RepairPlan",
    "RepairState",
    "Side",
    "StoredRange",
    "TableState",
    "Wanted",
    "open_store",
]
