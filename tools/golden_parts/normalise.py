"""Puts placeholders where two runs of the same code differ: times, ids, ports, positions in logs, versions of servers.

Counts, verdicts, names and messages stay. A date that is not of these days is somebody's data, and stays too.
"""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

VARYING = {
    "seconds": "<seconds>",
    "lag_seconds": "<seconds>",
    "seconds_left": "<seconds>",
    "rows_per_second": "<rate>",
    "lag_bytes": "<bytes>",
    "log_kept_bytes": "<bytes>",
    "transaction": "<transaction>",
    "process": "<process>",
}
"""Keys of documents, and columns of CSV, whose values are never the same; null stays null."""

_MOMENT = re.compile(r"\b(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?")
_EPOCH = re.compile(r"(?<![\w.-])\d{10,16}(?![\w.-])")
_ID = re.compile(r"\b([a-z]+)-\d{8}-\d{6}-[a-z0-9]{4}\b")
_LINE = re.compile(rf"^({'|'.join(name.replace('_', ' ') for name in VARYING)})  .+$", re.MULTILINE)
_PATTERNS = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\bbin\.\d{6}:\d+(?:@[0-9,-]+)?(?:[#~!][0-9A-Za-z./]+)*"), "<position>"),
    (re.compile(r"\b[0-9A-F]{1,8}/[0-9A-F]{5,8}\b(?:[#~!][0-9A-Za-z./]+)*"), "<position>"),
    (
        re.compile(r"\b(?:\d+ h )?(?:\d+ min )?\d[\d,]*(?:\.\d+)? (?:s|ms)\b|\b\d+ (?:min|h) \d+ (?:s|min)\b"),
        "<seconds>",
    ),
    (re.compile(r"\b[\d,.]+ (?:bytes?|MB|GB)\b"), "<bytes>"),
    (re.compile(r"\b[\d,]+ rows/s\b"), "<rate> rows/s"),
    (re.compile(r'\btime="[\d.]+"'), 'time="<seconds>"'),
    (re.compile(r"(\b(?:pull|pushdown|native|counts)\s+)\d+\.\d\b"), r"\1<seconds>"),  # in a table of tables
    (re.compile(r"\b\d+ on <host>"), "<process>"),
    (re.compile(r"('seconds': )[\d.]+"), r"\1<seconds>"),  # documents in a field of CSV
    (re.compile(r"\bhash:[0-9a-f]{16}\b"), "hash:<hash>"),  # each store has its own salt
]


class Normaliser:
    """`known` are texts of this run (paths, ports, versions) and what stands for each.

    Ids become <v-1>, <v-2> in the order in which they are met: what belongs together is still seen.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self.known = dict(known)
        self._ids: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def text(self, text: str) -> str:
        for literal in sorted(self.known, key=len, reverse=True):
            text = text.replace(literal, self.known[literal])
        text = _ID.sub(self._number, text)
        text = _MOMENT.sub(_moment, text)
        text = _EPOCH.sub(_epoch, text)
        for pattern, placeholder in _PATTERNS:
            text = pattern.sub(placeholder, text)
        return text

    def output(self, text: str, form: str) -> str:
        """What a command wrote in a form: text, json, ndjson, csv, junit, html. Keys of documents are sorted."""
        writers: dict[str, Callable[[str], str]] = {
            "json": self._json,
            "ndjson": lambda text: "".join(map(self._json, text.splitlines())),
            "csv": self._csv,
            "html": lambda text: self.text(_seen(text)),
        }
        if form not in writers:  # columns are as wide as what stands in them
            return _LINE.sub(_line, re.sub(r"(?<=\S)  +", "  ", self.text(text)))
        try:
            return writers[form](text)
        except ValueError:
            return f"(this is not {form})\n{self.text(text)}"

    def _json(self, text: str) -> str:
        # Several documents, one behind the other, are what several statements make.
        decoder, documents, rest = json.JSONDecoder(), [], text.lstrip()
        while rest:
            document, end = decoder.raw_decode(rest)
            documents.append(document)
            rest = rest[end:].lstrip()
        return "".join(
            json.dumps(self.value(each), indent=2, sort_keys=True, ensure_ascii=False) + "\n" for each in documents
        )

    def value(self, value: Any, key: str = "") -> Any:
        if value is not None and key in VARYING:
            return VARYING[key]
        match value:
            case dict():
                return {self.text(name): self.value(each, name) for name, each in value.items()}
            case list():
                return [self.value(each) for each in value]
            case str():
                return self.text(value)
            case int() if not isinstance(value, bool):
                text = self.text(str(value))
                return value if text == str(value) else text
            case _:
                return value

    def _csv(self, text: str) -> str:
        rows = list(csv.reader(io.StringIO(text)))
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        for number, row in enumerate(rows):
            names = rows[0] if number else [""] * len(row)
            shown = zip(names, row, strict=False)
            writer.writerow([VARYING.get(n, self.text(v)) if v != "\\N" else v for n, v in shown])
        return written.getvalue()

    def _number(self, match: re.Match[str]) -> str:
        if match[0] not in self._ids:
            self._counts[match[1]] = self._counts.get(match[1], 0) + 1
            self._ids[match[0]] = f"<{match[1]}-{self._counts[match[1]]}>"
        return self._ids[match[0]]


def _line(match: re.Match[str]) -> str:
    """Of a record in words: a name, and its value."""
    return f"{match[1]}  {VARYING[match[1].replace(' ', '_')]}"


def _moment(match: re.Match[str]) -> str:
    at = datetime.strptime(match[1], "%Y-%m-%d").replace(tzinfo=UTC)
    return "<time>" if abs(at - datetime.now(UTC)) < timedelta(days=3) else match[0]


def _epoch(match: re.Match[str]) -> str:
    """Seconds, milliseconds or microseconds since 1970, of these days."""
    now = time.time()
    near = any(abs(int(match[0]) / scale - now) < 3 * 86400 for scale in (1, 1_000, 1_000_000))
    return "<time>" if near else match[0]


def _seen(page: str) -> str:
    """What a browser would show of a page, a line for each piece of text."""
    reader = _Reader()
    reader.feed(page)
    return "".join(f"{line}\n" for line in reader.lines)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._hidden = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden = tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._hidden:
            self.lines.append(" ".join(data.split()))
