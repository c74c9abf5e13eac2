"""Whether an index has entries for some rows, looked at once more: all of the index is read."""

from __future__ import annotations

from contextlib import closing

from tieout.canonical.decode import decode
from tieout.config.urls import EndpointUrl
from tieout.connectors.base import reading
from tieout.connectors.checking import Checker
from tieout.connectors.index_paths import Path, Unreadable
from tieout.connectors.registry import open_checker
from tieout.connectors.writing import Refused
from tieout.model.tables import Table


def places_in(url: EndpointUrl, table: Table, index: str, wanted: set[str]) -> set[str]:
    """Those of the places that an entry leads to. Refused if the index can't be read."""
    with closing(open_checker(url)) as checker:
        (described,) = checker.describe([table.name])
        found = [info for info in checker.indexes(described) if info.name == index]
        if not found:
            raise Refused(f"there is no index {index} any more")
        if found[0].unchecked is not None:
            raise Refused(f"{index} can't be looked at: {found[0].unchecked}")
        path = checker.index_path(found[0])
        if isinstance(path, Unreadable):
            raise Refused(f"{index} can't be looked at: {path.reason}")
        return _read(checker, path, wanted)


def _read(checker: Checker, path: Path, wanted: set[str]) -> set[str]:
    def consume(way: Path) -> set[str]:
        there: set[str] = set()
        for part in way.parts(1):
            for batch in way.read(part):
                address = [decode(c.kind, array) for c, array in zip(way.address, batch.columns, strict=False)]
                for row in range(batch.num_rows):
                    place = checker.address_text([each.text(row) for each in address])
                    if place in wanted:
                        there.add(place)
        return there

    return reading(path, consume)
