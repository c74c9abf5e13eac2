"""Positions: how each source writes them, and in which order they lie."""

from __future__ import annotations

import pickle

import pytest

from tieout.model.positions import Position, lsn


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("bin.000002:4711", "bin.000002:4712"),
        ("bin.000002:4711", "bin.000010:4"),
        ("mysql-bin.999999:4711", "mysql-bin.1000000:4"),
        ("bin.000002:99", "bin.000002:100@0-1-17,1-1-3"),
        ("0/FFFFFFFF", "1/0"),
        ("0/16B3748", "0/16B3749"),
        ("9", "10"),
    ],
)
def test_order(earlier: str, later: str) -> None:
    assert Position(later).reaches(Position(earlier))
    assert not Position(earlier).reaches(Position(later))
    assert Position(earlier).reaches(Position(earlier))


def test_parts() -> None:
    position = Position("my.host-bin.000002:4711@0-1-17,1-1-3")
    assert (position.file, position.offset, position.gtids) == ("my.host-bin.000002", 4711, "0-1-17,1-1-3")
    assert Position("1/A0").offset == (1 << 32) + 0xA0
    assert lsn((1 << 32) + 0xA0) == Position("1/A0")
    assert pickle.loads(pickle.dumps(position)) == position


@pytest.mark.parametrize("text", ["", "bin.000002", "0/", "0/XYZ", "here"])
def test_other_text(text: str) -> None:
    with pytest.raises(ValueError):
        Position(text)
