"""Tables that a task filters, computes, chooses columns of, renames and merges; how they are moved and verified."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.integration.moving.pairs import Moving
from tieout import api
from tieout.model.requests import Meaning, TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import TableResult, Verdict, VerificationResult

BYTES = {"postgresql": "BYTEA", "mysql": "LONGBLOB", "sqlite": "BLOB"}
MOMENT = {"postgresql": "TIMESTAMP", "mysql": "DATETIME(6)", "sqlite": "DATETIME"}

TASK = (
    TableRequest("filtered", where="region = 'EU' OR length(region) = 0"),
    TableRequest(
        "computed",
        "totals",
        source_where="qty > 0",
        exclude_columns=("price", "qty"),
        expressions={
            "total": ("price * qty", ""),
            "rounded": ("CAST(price AS DOUBLE) / 3", ""),
            "origin": ("concat(_table, ':', upper(region))", ""),
            "day": ("to_date(at)", ""),
        },
    ),
    TableRequest("part_*", "whole", expressions={"shard": ("CAST(substr(_table, 6) AS INT)", "")}),
    TableRequest("chosen", columns=("id", "note")),
    TableRequest("renamed", "called"),
    TableRequest("visits", where="seconds > 0", expressions={"seconds": ("CAST(seconds / 60 AS INT)", "")}),
)


def make(moving: Moving) -> None:
    """Creates and fills all tables; those of the target are empty."""
    source, target = moving.source, moving.target
    for side, database in (("source", source), ("target", target)):
        scheme = database.server.scheme if hasattr(database, "server") else "sqlite"
        blob, moment = BYTES[scheme], MOMENT[scheme]
        exact = "TEXT" if scheme == "sqlite" else "DECIMAL(50,20)"
        database.execute(
            f"CREATE TABLE filtered (id INT NOT NULL PRIMARY KEY, region VARCHAR(20), exact {exact},"
            f" ratio DOUBLE PRECISION, raw {blob}, at {moment})"
        )
        database.execute("CREATE TABLE visits (who VARCHAR(20), seconds INT)")
        if side == "source":
            database.execute(
                "CREATE TABLE computed (id INT NOT NULL PRIMARY KEY, region VARCHAR(20), price DECIMAL(10,2), qty INT,"
                f" note TEXT, at {moment})"
            )
            for number in (1, 2, 3):
                database.execute(f"CREATE TABLE part_{number} (id INT NOT NULL PRIMARY KEY, note VARCHAR(40))")
            database.execute("CREATE TABLE chosen (id INT NOT NULL PRIMARY KEY, note TEXT, secret TEXT)")
            database.execute("CREATE TABLE renamed (id INT NOT NULL PRIMARY KEY, note TEXT)")
        else:
            database.execute(
                "CREATE TABLE totals (id INT NOT NULL PRIMARY KEY, region VARCHAR(20), total DECIMAL(20,2),"
                f" rounded DOUBLE PRECISION, note TEXT, at {moment}, origin VARCHAR(40), day DATE)"
            )
            database.execute(
                "CREATE TABLE whole (shard INT NOT NULL, id INT NOT NULL, note VARCHAR(40), PRIMARY KEY (shard, id))"
            )
            database.execute(
                "CREATE TABLE chosen (id INT PRIMARY KEY NOT NULL, note TEXT, theirs VARCHAR(9) DEFAULT 'x')"
            )
            database.execute("CREATE TABLE called (id INT NOT NULL PRIMARY KEY, note TEXT)")
    if getattr(getattr(source, "server", None), "scheme", "") == "postgresql":
        source.execute("ALTER TABLE visits REPLICA IDENTITY FULL")
    fill(source)


REGIONS = ("EU", "eu", "US", "", None, "EU ")
EXACT = "123456789012345678901234567890.12345678901234567890"


def fill(source: Any) -> None:
    place = "?" if not hasattr(source, "server") else "%s"

    def insert(table: str, rows: list[tuple[Any, ...]]) -> None:
        places = ", ".join([place] * len(rows[0]))
        source.executemany(f"INSERT INTO {table} VALUES ({places})", rows)

    numbers = range(1, 61)
    at = "2024-02-29 23:59:59.123456"
    insert(
        "filtered",
        [(n, REGIONS[n % 6], EXACT if n % 2 else "0.1", n / 7, bytes([n, 0, 255, 92]), at) for n in numbers],
    )
    insert(
        "computed",
        [(n, REGIONS[n % 6], f"{n}.25", n % 5 - 1, "a\tb \\ é" if n % 3 else "", at) for n in numbers],
    )
    for part in (1, 2, 3):
        insert(f"part_{part}", [(n, f"{part} has {n}") for n in range(1, 20 * part)])
    insert("chosen", [(n, "" if n % 4 else None, f"secret {n}") for n in numbers])
    insert("renamed", [(n, f"note {n}") for n in numbers])
    insert("visits", [("ab"[n % 2], n * 13 - 20) for n in numbers])


def with_task(moving: Moving, *tables: TableRequest) -> Moving:
    return replace(moving, request=replace(moving.request, tables=tables or TASK))


def request_of(moving: Moving, meaning: Meaning = Meaning.MOVED, **options: Any) -> VerifyRequest:
    return VerifyRequest(
        moving.source.url,
        moving.target.url,
        moving.request.tables,
        VerifyOptions(**{"recheck_after": 0.05, **options}),
        moving.request.task,
        meaning,
    )


def verified(moving: Moving, meaning: Meaning = Meaning.MOVED, **options: Any) -> VerificationResult:
    return api.run_verification(request_of(moving, meaning, **options), spark=moving.spark, meta=moving.meta)


def by_target(result: VerificationResult) -> dict[str, TableResult]:
    return {str(table.target_table).rpartition(".")[2]: table for table in result.tables}


def found(result: VerificationResult) -> dict[str, set[tuple[str, tuple[str | None, ...]]]]:
    """For each table of the target: the kind and the key of each difference."""
    names = {table.table: name for name, table in by_target(result).items()}
    listed: dict[str, set[tuple[str, tuple[str | None, ...]]]] = {}
    for each in result.differences:
        name = names.get(each.table, each.table.rpartition(".")[2])
        listed.setdefault(name, set()).add((each.kind.value, tuple(each.key.values())))
    return listed


def computed(moving: Moving, *left_out: str, **expressions: str) -> Moving:
    """The task that computes these columns of a table `t` and moves the others, without those left out."""
    texts = {name: (text, "") for name, text in expressions.items()}
    return with_task(moving, TableRequest("t", exclude_columns=left_out, expressions=texts))


def assert_equal(moving: Moving) -> None:
    result = verified(moving)
    assert (found(result), [(table.verdict, table.reason) for table in result.tables]) == ({}, [(Verdict.EQUAL, None)])
