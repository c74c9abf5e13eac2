"""What tells the three deliveries apart, shown by a kill: a mover that is always exactly-once fails two of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults.moving.cases import Case
from tests.faults.moving.mover import Mover
from tests.faults.moving.workload import scheme

if TYPE_CHECKING:
    from tests.servers.server import Database

CASES = [
    pytest.param(Case("mariadb-postgres", "any", "any", 1), id="mariadb-postgres"),
    pytest.param(Case("postgres-mariadb", "any", "any", 1), id="postgres-mariadb", marks=pytest.mark.thorough),
    pytest.param(Case("sqlite-sqlite", "any", "any", 1), id="sqlite-sqlite", marks=pytest.mark.thorough),
]


def write(source: Database, numbers: range) -> None:
    """Two transactions for each. The same row is changed by all of the first ones: any part of a batch shows in it."""
    for number in numbers:
        source.execute(f"UPDATE keyed SET n = {number} WHERE id = 1")
        source.execute(f"INSERT INTO events VALUES ({number}, 'event')")


def events(target: Database) -> Counter[int]:
    return Counter(number for (number,) in target.rows("SELECT n FROM events"))


def value(target: Database) -> int:
    ((number,),) = target.rows("SELECT n FROM keyed WHERE id = 1")
    return int(number)


@pytest.fixture
def begun(pair: tuple[Database, Database], mover: Callable[..., Mover]) -> Callable[[str], Mover]:
    """A task whose rows are copied and whose first changes are applied."""

    def begin(delivery: str) -> Mover:
        task = mover(delivery)
        for numbers in (range(5), range(5, 10)):
            write(pair[0], numbers)
            ended = task.run()
            assert ended.code == 0, ended.words
        return task

    return begin


def kill(task: Mover, place: str, **changes: Any) -> None:
    killed = task.run((place, 1), **changes)
    assert killed.killed, killed.words


def goes_on(task: Mover, **changes: Any) -> dict[str, Any]:
    """What its status is in the end."""
    ended = task.run(**changes)
    assert ended.code == 0, ended.words
    assert ended.status is not None
    return ended.status


def test_at_least_once_applies_a_batch_again_and_no_other(
    pair: tuple[Database, Database], begun: Callable[[str], Mover]
) -> None:
    source, target = pair
    task = begun("at-least-once")
    write(source, range(10, 20))
    kill(task, "after-merge")
    assert events(target) == Counter(range(20))
    write(source, range(20, 30))
    goes_on(task)
    assert events(target) == Counter(range(30)) + Counter(range(10, 20)), "a batch comes twice, and no other row"


@pytest.mark.thorough
def test_a_batch_that_is_applied_again_is_the_same_one(
    pair: tuple[Database, Database], begun: Callable[[str], Mover]
) -> None:
    """Cut smaller, its changes would come one after another: who reads the target would see them go back in time."""
    source, target = pair
    task = begun("at-least-once")
    write(source, range(10, 20))
    kill(task, "after-merge")
    assert value(target) == 19
    small = {"options": {**task.asked["options"], "batch_bytes": 1}}
    kill(task, "after-merge", **small)
    assert value(target) == 19, "rows went back in time"
    goes_on(task, **small)
    assert value(target) == 19


def test_at_most_once_loses_a_batch_and_nothing_beyond_it(
    pair: tuple[Database, Database], begun: Callable[[str], Mover]
) -> None:
    source, target = pair
    task = begun("at-most-once")
    write(source, range(10, 20))
    kill(task, "after-source-commit")
    assert events(target) == Counter(range(10))
    write(source, range(20, 30))
    goes_on(task)
    assert events(target) == Counter([*range(10), *range(20, 30)]), "one batch is lost, nothing else, nothing twice"


def test_exactly_once_does_neither(pair: tuple[Database, Database], begun: Callable[[str], Mover]) -> None:
    source, target = pair
    task = begun("exactly-once")
    write(source, range(10, 20))
    kill(task, "after-merge")
    write(source, range(20, 30))
    kill(task, "before-commit")
    goes_on(task)
    assert events(target) == Counter(range(30))


@pytest.mark.thorough
def test_what_changed_a_table_last_is_known_after_a_restart(
    pair: tuple[Database, Database], begun: Callable[[str], Mover]
) -> None:
    """To who asks for the status, too. It is of one moment with the rows."""
    source, target = pair
    task = begun("exactly-once")
    write(source, range(10, 20))
    kill(task, "after-merge")
    before = versions(target)
    assert before.keys() == {"keyed", "events"}
    assert told(goes_on(task)) == before
    assert versions(target) == before
    write(source, range(20, 30))
    kill(task, "before-commit")
    assert versions(target) == before, "rows and what is known of them are of one moment"
    after = told(goes_on(task))
    assert after == versions(target)
    for table, (transaction, at) in before.items():
        assert after[table][0] != transaction
        assert after[table][1] >= at


def told(status: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """The same of the tables that were changed, as a mover tells it."""
    return {
        table["target"].split(".")[1]: (table["transaction"], table["committed_at"])
        for table in status["tables"]
        if table["transaction"] is not None
    }


def versions(target: Database) -> dict[str, tuple[str, int]]:
    """The transaction and the moment of the last change of each table, as the target keeps them."""
    schema = "_tieout." if scheme(target) == "postgresql" else ""
    found = target.rows(f"SELECT target_table, transaction_id, committed FROM {schema}tieout_versions")
    return {str(name).split(".")[1]: (str(transaction), int(at)) for name, transaction, at in found}
