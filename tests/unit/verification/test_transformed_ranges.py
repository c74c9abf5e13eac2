"""The key ranges of a side that Spark transforms, once they are found."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tieout.errors import UnreachableError
from tieout.model.keys import EVERYTHING
from tieout.verification import transformed
from tieout.verification.parts import TransformedReader
from tieout.verification.transformed import Reading


def test_ranges_that_were_not_all_found_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of them would pass for the whole table."""
    tries: list[Any] = []

    def divided(*_: Any) -> Iterator[tuple[int, Any]]:
        tries.append(None)
        yield 0, EVERYTHING
        if len(tries) == 1:
            raise UnreachableError("the connection was cut off")
        yield 1, EVERYTHING

    monkeypatch.setattr(transformed, "_divided", divided)
    reader, spark = TransformedReader((SimpleNamespace(),) * 2), SimpleNamespace()  # type: ignore[arg-type]
    with pytest.raises(UnreachableError):
        transformed._ranges(spark, reader, Reading(1))  # type: ignore[arg-type]
    assert transformed._ranges(spark, reader, Reading(1)) == [(0, EVERYTHING), (1, EVERYTHING)]  # type: ignore[arg-type]
