"""One small verification with something of everything in it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tieout.model.differences import Difference, DifferenceCounts, DifferenceKind, ValuePair
from tieout.model.results import (
    Explanation,
    RowCounts,
    SchemaFinding,
    Strategy,
    TableResult,
    UnverifiedColumn,
    Verdict,
    VerificationResult,
)

LONG = "The quick brown fox jumps over the lazy dog. " * 30


@pytest.fixture
def different() -> VerificationResult:
    return VerificationResult(
        verdict=Verdict.DIFFERENT,
        job="01J9ZK3V",
        source="mysql://app:***@db1/shop",
        target="postgresql://app:***@db2/shop",
        started_at=datetime(2025, 3, 1, 9, 30, tzinfo=UTC),
        seconds=72.4,
        tables=(orders(), customers(), shapes(), audit()),
        differences=differences(),
        truncated=True,
        notes=("2 tables of the target are not on the source: they were not asked for",),
    )


@pytest.fixture
def equal() -> VerificationResult:
    return VerificationResult(
        verdict=Verdict.EQUAL,
        job="01J9ZK3W",
        source="sqlite:///a.db",
        target="sqlite:///b.db",
        started_at=datetime(2025, 3, 1, 9, 30, tzinfo=UTC),
        seconds=0.84,
        tables=(customers(),),
    )


def orders() -> TableResult:
    return TableResult(
        "shop.orders",
        "public.orders",
        Verdict.DIFFERENT,
        strategy=Strategy.PULL,
        rows=RowCounts(2_000_000, 2_000_001),
        differences=DifferenceCounts(1, 2, 20_110),
        schema=(SchemaFinding("type", "decimal(10,2) on the source, numeric(12,2) on the target", "price"),),
        source_position="bin.000002:4711",
        collision_bound="1e-31",
        seconds=61.04,
        explanation=Explanation(Strategy.PULL, "key ranges", ("the engines differ: no hash is common to both",)),
    )


def customers() -> TableResult:
    return TableResult(
        "shop.customers",
        "shop.customers",
        Verdict.EQUAL,
        strategy=Strategy.PUSHDOWN,
        rows=RowCounts(300, 300),
        collision_bound="1e-33",
        seconds=0.8,
    )


def shapes() -> TableResult:
    return TableResult(
        "shop.shapes",
        "public.shapes",
        Verdict.UNVERIFIED,
        reason="a column could not be compared",
        strategy=Strategy.PULL,
        rows=RowCounts(17, 17),
        unverified_columns=(UnverifiedColumn("outline", "geometry has no canonical form"),),
        seconds=0.5,
    )


def audit() -> TableResult:
    return TableResult("shop.audit", None, Verdict.DIFFERENT, reason="the target has no such table")


def differences() -> tuple[Difference, ...]:
    return (
        Difference("shop.orders", DifferenceKind.MISSING, {"id": "1234567"}),
        Difference("shop.orders", DifferenceKind.EXTRA, {"id": "99", "region": "eu"}, copies=2),
        Difference("shop.orders", DifferenceKind.CHANGED, {"id": "17"}, {"qty": ValuePair("10", "99")}),
        Difference(
            "shop.orders",
            DifferenceKind.CHANGED,
            {"id": "18"},
            {
                "note": ValuePair(None, "NULL"),
                "name": ValuePair("abc ", "abc"),
                "body": ValuePair(LONG, LONG.replace("fox", "cat", 20).replace("cat", "fox", 19)),
                "due": ValuePair("2025-03-01 10:00:00", "2025-03-01 11:00:00"),
            },
        ),
    )
