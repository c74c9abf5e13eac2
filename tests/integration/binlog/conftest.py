"""All types with their values, written once and read once by us and once by mysql-replication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.binlog.following import Followed
from tests.integration.binlog.theirs import LACKING, their_rows
from tests.integration.binlog.values import ALL, Case
from tests.servers.mariadb import MariaDB
from tieout.model.row_changes import Rows

Values = list[Any]


@dataclass(frozen=True)
class Written:
    """What the tables hold: as the server prints it, as we read it, and as the library does, where it can."""

    shown: dict[Case, Values]
    ours: dict[Case, Values]
    theirs: dict[Case, Values]


@pytest.fixture(scope="session")
def written(mariadb: MariaDB) -> Written:
    with mariadb.fresh_database() as database:
        followed = Followed(database)
        names = [f"t{number}" for number in range(len(ALL))]
        with database.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = '', time_zone = '+00:00'")
            for name, case in zip(names, ALL, strict=True):
                _fill(cursor, name, case)
            shown = [_shown(cursor, name, case) for name, case in zip(names, ALL, strict=True)]
        ours: dict[str, Values] = {name: [] for name in names}
        for item in followed.items(*names):
            if isinstance(item, Rows):
                ours[item.table.name.name] += [row[1] for row in item.rows]
        comparable = [
            name for name, case in zip(names, ALL, strict=True) if not any(map(case.type.__contains__, LACKING))
        ]
        theirs = their_rows(database.url, followed.begin, followed.log.now(), comparable)
    return Written(
        dict(zip(ALL, shown, strict=True)),
        dict(zip(ALL, ours.values(), strict=True)),
        {case: [row["c"] for row in theirs[name]] for name, case in zip(names, ALL, strict=True) if name in theirs},
    )


def _fill(cursor: Any, name: str, case: Case) -> None:
    cursor.execute(f"CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY, c {case.type})")
    rows = ", ".join(f"({number}, {value})" for number, value in enumerate(("NULL", *case.values)))
    cursor.execute(f"INSERT INTO {name} VALUES {rows}")


def _shown(cursor: Any, name: str, case: Case) -> Values:
    cursor.execute(f"SELECT {case.shown} FROM {name} ORDER BY id")
    return [value for (value,) in cursor.fetchall()]
