"""The report as one self-contained HTML page: no script, no font, no link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TextIO

from jinja2 import Environment, StrictUndefined, Template

from tieout.model.differences import Difference, ValuePair
from tieout.model.results import VerificationResult
from tieout.model.truncated import TruncatedText
from tieout.report import text
from tieout.report.printable import look_alike, one_line, printable
from tieout.report.text import explained_tables, positions_text, schema_text
from tieout.report.values import first_difference, fragment, is_bare, value_text

_CONTEXT = 120
_CHANGED = 600


def write(result: VerificationResult, stream: TextIO) -> None:
    stream.writelines(_template().generate(result=result, explained=explained_tables(result), groups=_groups(result)))
    stream.write("\n")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(
        text=text, contrast=contrast, schema_text=schema_text, positions_text=positions_text, value_text=value_text
    )
    environment.filters.update(printable=printable, one_line=one_line)
    source = files("tieout.report").joinpath("report.html.jinja").read_text(encoding="utf-8")
    return environment.from_string(source)


def _groups(result: VerificationResult) -> Iterator[tuple[str, Iterable[Difference]]]:
    return groupby(result.differences, key=lambda difference: difference.table)


@dataclass(frozen=True, slots=True)
class Contrast:
    """One value of a pair: what both have before, what only this one has, what both have after."""

    before: str
    own: str
    after: str
    is_null: bool = False


def contrast(pair: ValuePair) -> tuple[Contrast, Contrast]:
    """Both values, truncated to the text around their difference, safe and visible."""
    source, target = pair.source, pair.target
    if source is None or target is None or TruncatedText in (type(source), type(target)):
        return _whole(source), _whole(target)
    parts = _parts(source, target, exact=False), _parts(target, source, exact=False)
    if look_alike(*("".join((part.before, part.own, part.after)) for part in parts)):
        parts = _parts(source, target, exact=True), _parts(target, source, exact=True)
    return parts


def _whole(value: str | None) -> Contrast:
    return Contrast("", "NULL", "", True) if value is None else Contrast("", value_text(value, _CHANGED), "")


def _parts(value: str, other: str, exact: bool) -> Contrast:
    start = first_difference(value, other)
    stop = len(value) - first_difference(value[start:][::-1], other[start:][::-1])
    begin, end = max(0, start - _CONTEXT), min(len(value), stop + _CONTEXT)
    before, _ = fragment(value, begin, start, 10 * _CONTEXT, exact)
    own, shown = fragment(value, start, stop, _CHANGED, exact)
    after, _ = fragment(value, stop, end, 10 * _CONTEXT, exact) if shown == stop else ("", 0)
    more = shown < stop or end < len(value)
    if begin or more:
        return Contrast(f"{'…' * (begin > 0)}'{before}", own, f"{after}'{'…' * more} ({len(value):,} characters)")
    quote = "" if is_bare(value) else "'"
    return Contrast(f"{quote}{before}", own, f"{after}{quote}")
