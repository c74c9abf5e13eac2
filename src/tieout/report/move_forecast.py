"""What a move would promise, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from tieout.model.preflight import MoveForecast, MoveTableForecast, TableState
from tieout.report.printable import printable
from tieout.report.terminal import HEADING
from tieout.report.words import log_words

_STATES = {
    TableState.MISSING: "will be made",
    TableState.THERE: "is there, and empty",
    TableState.BEGUN: "holds rows of this task already",
}


def move_lines(move: MoveForecast) -> Iterator[Text]:
    yield Text(f"delivery: {move.delivery} (the pair can give {_listed(move.deliveries)})")
    levels = _listed(move.source_levels)
    yield Text(f"consistency: {move.consistency} (the source's log tells what belongs to one {levels})")
    yield Text(f"log: {log_words(move.log_kept_bytes, move.log_limit)}")
    for table in move.tables:
        yield from _table(table)


def _table(table: MoveTableForecast) -> Iterator[Text]:
    title = f"{printable(table.source_table)} → {printable(table.target_table)}"
    yield Text.assemble((title, HEADING), f": {_STATES[table.state]}")
    key = f"key ({', '.join(map(printable, table.key))})" if table.key else "no key: rows are a multiset"
    yield Text(f"  - {key}")
    yield Text(f"  - target level {table.target_level} (of {_listed(table.target_levels)})")
    yield Text(f"  promise: {table.promise}")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
