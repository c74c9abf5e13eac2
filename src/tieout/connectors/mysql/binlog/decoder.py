"""Decoders of rows: Python source that is written for one table, compiled once.

A decoder reads all rows of an event in one loop. Columns of fixed width that lie side by side are unpacked together,
by one call for each byte order; a row without NULLs takes a straight way, any other one asks for each column that
may be NULL.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from tieout.connectors.mysql.binlog import temporal
from tieout.connectors.mysql.binlog.charset_codec import spelled
from tieout.connectors.mysql.binlog.codegen import Source
from tieout.connectors.mysql.binlog.compressed import inflated_value
from tieout.connectors.mysql.binlog.digits import DIGITS
from tieout.connectors.mysql.binlog.image import ImageWriter, Slot
from tieout.model.changes import KEPT, Image

Decoded = tuple[int, list[Image], list[Image | None]]
"""Where the last row ends, the rows, and what they were before; the latter is empty if there is one image a row."""

_SHARED = {
    **DIGITS,
    "KEPT": KEPT,
    "charmap": codecs.charmap_decode,
    "spelled": spelled,
    "inflated_value": inflated_value,
    "dates": temporal.dates,
    "datetime_days": temporal.datetime_days,
    "clocks": temporal.clocks,
    "days": temporal.days,
    "seconds": temporal.seconds,
    "moment": temporal.moment,
    "time_text": temporal.time_text,
    "old_time": temporal.old_time,
    "old_datetime": temporal.old_datetime,
}


@dataclass(frozen=True, slots=True)
class Decoder:
    """`run(data, at, end)` decodes; `columns` tells the column whose value a line of it reads."""

    run: FunctionType
    columns: dict[int, str]

    def column_of(self, error: BaseException) -> str:
        """The column that the decoder was at when it raised; "" if that can't be told."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is self.run.__code__:
                return self.columns.get(trace.tb_lineno, "")
            trace = trace.tb_next
        return ""


def decoder(images: Sequence[Sequence[Slot]]) -> Decoder:
    """For rows of one image, or of two: the old one and the new one."""
    source = Source()
    source.add(0, "def decode(b, p, end):")
    source.add(1, "before, rows = [], []")
    source.add(1, "add_before, add_row = before.append, rows.append")
    source.add(1, "while p < end:")
    for slots, add in zip(images, ("add_before", "add_row")[-len(images) :], strict=True):
        ImageWriter(source, slots, add).write(depth=2)
    source.add(1, "return p, rows, before")
    names: dict[str, Any] = {**_SHARED, **source.names}
    exec(compile(source.text, "<rows>", "exec"), names)
    return Decoder(names["decode"], source.columns)
