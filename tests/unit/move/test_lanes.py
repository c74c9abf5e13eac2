"""Which tables are divided among the connections that merge."""

from __future__ import annotations

import pytest

from tieout.model.moves import Consistency, Transfer
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.move.lanes import LanePlan

ID = Column("id", LogicalType(TypeName.INTEGER, 64), nullable=False)


def transfer(name: str, rows: int | None, target: str | None = None) -> Transfer:
    tables = (Table(TableName("s", each), (ID,), ("id",), estimated_rows=rows) for each in (name, target or name))
    return Transfer(*tables, ((ID, ID),), (0,))


def lanes(*transfers: Transfer, consistency: Consistency = Consistency.ROW, joined: tuple[str, ...] = ()) -> list[str]:
    reasons = {TableName("s", name): "it has no key" for name in joined}
    plan = LanePlan.of(consistency, transfers, reasons, 3)
    return [
        " ".join(each.tables) + ("" if each.share is None else f" {each.share}/{each.shares}") for each in plan.lanes
    ]


SHARES = ["s.a 0/3", "s.a 1/3", "s.a 2/3"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((90, 10, 10), [*SHARES, "s.b", "s.c"]),
        ((10, 10, 11, 10), ["s.a", "s.b", "s.c", "s.d"]),
        ((10, 10, 10), [f"s.a s.b s.c {share}/3" for share in range(3)]),
        ((None, 10, 90), [f"s.a s.c {share}/3" for share in range(3)] + ["s.b"]),
        ((0,), SHARES),
    ],
    ids=["one is large", "none is large", "each is as large as a share", "of unknown size", "empty"],
)
def test_large_tables_are_divided(rows: tuple[int | None, ...], expected: list[str]) -> None:
    assert lanes(*(transfer(name, each) for name, each in zip("abcd", rows, strict=False))) == expected


def test_merged_tables_are_as_large_as_all_their_parts() -> None:
    assert lanes(transfer("p", 20, "a"), transfer("q", 20, "a"), transfer("b", 50)) == [
        *(f"s.a s.b {share}/3" for share in range(3))
    ]


def test_what_can_not_be_divided_is_not() -> None:
    assert lanes(transfer("a", 90), transfer("b", 90), joined=("b",)) == [*SHARES, "s.b"]
    assert lanes(transfer("a", 90), consistency=Consistency.TABLE) == ["s.a"]
    assert lanes(transfer("a", 90), consistency=Consistency.TRANSACTION) == []
