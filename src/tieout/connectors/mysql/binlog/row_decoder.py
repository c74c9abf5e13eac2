"""Generates decoders of rows: Python source for one table, compiled once.

The source reads one image of a row: `b` are the bytes, `p` is where the image starts.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from struct import Struct
from types import FunctionType
from typing import Any

from tieout.connectors.mysql.binlog import value_texts
from tieout.connectors.mysql.binlog.byte_reader import inflated_value
from tieout.connectors.mysql.binlog.charset_codec import spelled
from tieout.connectors.mysql.binlog.column_forms import Form
from tieout.connectors.mysql.binlog.value_texts import DIGITS
from tieout.model.row_changes import KEPT, Image


class Source:
    """The lines of a function, and the objects of its names. `columns` maps a line to the column that it reads."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.columns: dict[int, str] = {}
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def add(self, depth: int, line: str, column: str = "") -> None:
        self._lines.append("    " * depth + line)
        if column:
            self.columns[len(self._lines)] = column

    def unpacking(self, pattern: str) -> str:
        """The name of the function that unpacks this pattern."""
        name = f"unpack_{'little' if pattern[0] == '<' else 'big'}_{pattern[1:]}"
        self.names[name] = Struct(pattern).unpack_from
        return name


@dataclass(frozen=True, slots=True)
class Slot:
    """A column of an image. `form` is None if the image lacks it."""

    name: str
    form: Form | None
    nullable: bool


Place = tuple[str, int]
"""The offset of a byte: a variable, and a number to add."""


class ImageWriter:
    """Writes the source that reads one image."""

    def __init__(self, source: Source, slots: Sequence[Slot], add: str) -> None:
        """`add` is the name of the function that takes the row."""
        self._source = source
        self._slots = slots
        self._add = add
        self._present = {index: slot.form for index, slot in enumerate(slots) if slot.form is not None}
        self._bits = {index: bit for bit, index in enumerate(self._present)}
        self._bitmap = (len(self._bits) + 7) // 8
        for index, form in self._present.items():
            for name, value in form.names.items():
                source.names[f"{name}_{index}"] = value

    def write(self, depth: int) -> None:
        if not any(self._slots[index].nullable for index in self._present):
            self._write_straight(depth)
            return
        self._source.add(depth, f"if {self._any_null(self._present)}:")
        self._write_careful(depth + 1)
        self._source.add(depth, "else:")
        self._write_straight(depth + 1)

    def _write_straight(self, depth: int) -> None:
        """For images without NULL: the columns lie one after another."""
        values: dict[int, str] = {}
        end = self._write_reads(list(self._present), ("p", self._bitmap), depth, values)
        self._write_row(values, depth)
        self._source.add(depth, f"p = {_at(end)}")

    def _write_careful(self, depth: int) -> None:
        """For images with NULLs: checks each column that may be NULL."""
        values: dict[int, str] = {}
        if never := [index for index in self._present if not self._slots[index].nullable]:
            self._source.add(depth, f"if {self._any_null(never)}:")
            self._source.add(depth + 1, "raise ValueError('NULL in a column that can not be NULL')")
        self._source.add(depth, f"q = {_at(('p', self._bitmap))}")
        for nullable, indexes in groupby(self._present, key=lambda index: self._slots[index].nullable):
            if nullable:
                for index in indexes:
                    self._write_nullable(index, depth, values)
            else:
                end = self._write_reads(list(indexes), ("q", 0), depth, values)
                self._source.add(depth, f"q = {_at(end)}")
        self._write_row(values, depth)
        self._source.add(depth, "p = q")

    def _write_nullable(self, index: int, depth: int, values: dict[int, str]) -> None:
        self._source.add(depth, f"if {self._any_null([index])}:")
        self._source.add(depth + 1, f"c{index} = None")
        self._source.add(depth, "else:")
        end = self._write_reads([index], ("q", 0), depth + 1, values)
        if values[index] != f"c{index}":
            self._source.add(depth + 1, f"c{index} = {values[index]}", self._slots[index].name)
            values[index] = f"c{index}"
        self._source.add(depth + 1, f"q = {_at(end)}")

    def _write_reads(self, indexes: list[int], place: Place, depth: int, values: dict[int, str]) -> Place:
        """Reads columns that lie one after another from `place` on; returns where they end."""
        for run in self._runs(indexes):
            place = self._write_unpack(run, place, depth)
            for index in run:
                form, items = self._present[index], self._items(index)
                if form.length:  # only the last of a run
                    place = self._write_data(index, place, depth)
                    values[index] = f"c{index}"
                else:
                    values[index] = form.value.format(*items, own=f"_{index}")
        return place

    def _runs(self, indexes: Iterable[int]) -> Iterator[list[int]]:
        """Groups of columns, each up to the next column that has data after its items."""
        run: list[int] = []
        for index in indexes:
            run.append(index)
            if self._present[index].length:
                yield run
                run = []
        if run:
            yield run

    def _write_unpack(self, run: list[int], place: Place, depth: int) -> Place:
        """One call for each byte order, which skips the columns of the other one."""
        forms = [self._present[index] for index in run]
        end = place[0], place[1] + sum(form.size for form in forms)
        if [form.items for form in forms] == ["B"]:
            self._source.add(depth, f"{self._items(run[0])[0]} = b[{_at(place)}]")
            return end
        orders = sorted({form.order for form in forms} - {""}) or ["<"]
        for order in orders:
            mine = [index for index in run if (self._present[index].order or orders[0]) == order]
            pattern = "".join(
                self._present[index].items if index in mine else f"{self._present[index].size}x" for index in run
            )
            names = ", ".join(name for index in mine for name in self._items(index))
            self._source.add(depth, f"{names}, = {self._source.unpacking(order + pattern)}(b, {_at(place)})")
        return end

    def _write_data(self, index: int, place: Place, depth: int) -> Place:
        form, items, end = self._present[index], self._items(index), f"e{index}"
        self._source.add(depth, f"{end} = {_at(place)} + ({form.length.format(*items)})")
        value = form.value.format(*items, data=f"b[{_at(place)}:{end}]", own=f"_{index}")
        self._source.add(depth, f"c{index} = {value}", self._slots[index].name)
        return end, 0

    def _write_row(self, values: dict[int, str], depth: int) -> None:
        row = ", ".join(values.get(index, "KEPT") for index in range(len(self._slots)))
        self._source.add(depth, f"{self._add}(({row},))")

    def _items(self, index: int) -> list[str]:
        return [f"v{index}_{number}" for number in range(len(self._present[index].items))]

    def _any_null(self, indexes: Iterable[int]) -> str:
        masks: dict[int, int] = {}
        for index in indexes:
            byte, bit = divmod(self._bits[index], 8)
            masks[byte] = masks.get(byte, 0) | 1 << bit
        return " or ".join(f"b[{_at(('p', byte))}] & {mask}" for byte, mask in masks.items())


def _at(place: Place) -> str:
    variable, offset = place
    return f"{variable} + {offset}" if offset else variable


Decoded = tuple[int, list[Image], list[Image | None]]
"""Where the last row ends, the rows, and their old images; these are empty if there is one image for each row."""

_SHARED = {
    **DIGITS,
    "KEPT": KEPT,
    "charmap": codecs.charmap_decode,
    "spelled": spelled,
    "inflated_value": inflated_value,
    "dates": value_texts.dates,
    "datetime_days": value_texts.datetime_days,
    "clocks": value_texts.clocks,
    "days": value_texts.days,
    "seconds": value_texts.seconds,
    "moment": value_texts.moment,
    "time_text": value_texts.time_text,
    "old_time": value_texts.old_time,
    "old_datetime": value_texts.old_datetime,
}


@dataclass(frozen=True, slots=True)
class Decoder:
    """`run(data, at, end)` decodes; `columns` maps a line of it to the column that it reads."""

    run: FunctionType
    columns: dict[int, str]

    def column_of(self, error: BaseException) -> str:
        """The column that the decoder was reading when it raised; "" if unknown."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is self.run.__code__:
                return self.columns.get(trace.tb_lineno, "")
            trace = trace.tb_next
        return ""


def decoder(images: Sequence[Sequence[Slot]]) -> Decoder:
    """Makes a decoder for rows with one image, or with two: the old one and the new one."""
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
