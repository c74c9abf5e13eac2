"""Images of rows out of the messages that change them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tieout.connectors.postgres.wal.batch import Batch, Places
from tieout.connectors.postgres.wal.relation import Relation
from tieout.connectors.postgres.wal.tuples import cut
from tieout.model.changes import KEPT, ChangeKind, Image

_NEW = ord("N")

_TUPLE = 6
"""Where the first tuple of a message stands: behind kind, relation and the mark of the tuple."""


@dataclass(frozen=True, slots=True)
class Images:
    """One row for each message; for updates also what it was before, None where the message does not say.

    `whole`: no row holds KEPT.
    """

    rows: list[Image]
    before: list[Image | None] | None = None
    whole: bool = False


def images(batch: Batch, messages: Places, relation: Relation, kind: ChangeKind) -> Images:
    """The images of messages of one table and kind. UnicodeDecodeError if a value is no UTF-8."""
    if kind is ChangeKind.UPDATE:
        return _updates(batch, messages, relation)
    told = relation.identity if kind is ChangeKind.DELETE else relation.whole
    found = cut(batch, messages + _TUPLE, told)
    return Images(found.rows(), whole=all(told) and not found.unchanged)


def _updates(batch: Batch, messages: Places, relation: Relation) -> Images:
    at = messages + _TUPLE
    with_old = np.flatnonzero(batch.octets[at - 1] != _NEW)
    if not len(with_old):
        new = cut(batch, at, relation.whole)
        return Images(new.rows(), whole=not new.unchanged)
    old = cut(batch, at[with_old], relation.identity)
    at[with_old] = old.ends + 1  # the mark of the new tuple stands between
    new = cut(batch, at, relation.whole)
    before: list[Image | None] = [None] * len(at)
    for place, image in zip(with_old.tolist(), old.rows(), strict=True):
        before[place] = image
    for column in new.unchanged:
        _fill(new.columns[column], [image and image[column] for image in before])
    return Images(new.rows(), before, whole=not new.unchanged)


def _fill(values: list[Any], olds: list[Any]) -> None:
    for place, (value, old) in enumerate(zip(values, olds, strict=True)):
        # What is kept outside of its row is not NULL: an old NULL here would be a partition's image of its key alone.
        if value is KEPT and old is not None:
            values[place] = old
