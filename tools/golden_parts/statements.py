"""How many statements the servers are asked by verify, check and run, by kind, and how often each table is read.

Nothing here may depend on time: chunks have a number of rows, one task runs at a time. A mover asks more the longer it
waits (for its log, for its turn), so it is counted three times, and the least of each kind is told; what it says every
few seconds, that it is alive, is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, TypeAlias

from tools.golden_parts.running import Workplace, workplace
from tools.golden_parts.shop import CHANGES, SPOILING, TABLES, Servers, change, configuration, fill, servers

if TYPE_CHECKING:
    from tests.servers.server import Database, Server, Statement

_TWO_WORDS = {"CREATE", "DROP", "ALTER", "SHOW", "SET", "START", "LOCK", "INSERT", "DELETE", "COPY", "LOAD", "UNLOCK"}
_READS = re.compile(r"\b(?:FROM|JOIN)\s+(?:ONLY\s+)?(?:[`\"]?\w+[`\"]?\.)?[`\"]?(\w+)[`\"]?", re.IGNORECASE)
_NAME = r"(?:[`\"]?\w+[`\"]?\.)?[`\"]?(\w+…?)[`\"]?"
_TARGET = re.compile(
    rf"^(INSERT INTO|DELETE FROM|UPDATE|COPY|(?:CREATE|DROP|ALTER) TABLE(?: IF (?:NOT )?EXISTS)?)\s+{_NAME}", re.I
)
_ALIVE = re.compile(r"UPDATE \S+ SET heard = .* AND EXISTS", re.DOTALL)

Counts: TypeAlias = "Counter[str]"
"""By what is told of a statement."""


def record() -> str:
    with servers() as both, workplace(both.known()) as place:
        maria, postgres = both.mariadb, both.postgres
        for one, other, strategies in (
            (maria, postgres, ("pull",)),
            (maria, maria, ("pushdown", "native")),
            (postgres, postgres, ("pushdown", "native")),
        ):
            with both.database(one, "shop_old") as old, both.database(other, "shop_new") as new:
                _verified(place, old, new, strategies)
        for server in (maria, postgres):
            with both.database(server, "shop_old") as side:
                fill(side)
                words = ("check", side.url, f"CHECK DATABASE {side.name}")
                _tell(place, f"check on {server.scheme}", (side,), [_counted(place, (side,), *words)])
        for one, other in ((maria, postgres), (postgres, maria)):
            _moves(place, both, one, other)
        return place.text()


def _verified(place: Workplace, old: Database, new: Database, strategies: tuple[str, ...]) -> None:
    """Two shops with some differences."""
    fill(old)
    fill(new)
    change(new, SPOILING)
    pair = ("--source", old.url, "--target", new.url, "--chunk-rows", "50", "--recheck-times", "0")
    for strategy in strategies:
        title = f"verify from {old.server.scheme} to {new.server.scheme}, {strategy}"
        counted = _counted(place, (old, new), "verify", *pair, "--strategy", strategy)
        _tell(place, title, (old, new), [counted])


def _moves(place: Workplace, both: Servers, one: Server, other: Server) -> None:
    """The same move three times, from the beginning."""
    copies, changes = [], []
    for number in range(3):
        with both.database(one, "shop_old") as source, both.database(other, "shop_new") as target:
            fill(source)
            (place.directory / "tieout.yaml").write_text(configuration(source.url, target.url))
            store = f"sqlite:///{place.directory}/{one.scheme}-{number}.db"
            words = ("run", "shop", "--until-caught-up", "--meta", store)
            copies.append(_counted(place, (source, target), *words))
            change(source, CHANGES)
            changes.append(_counted(place, (source, target), *words))
    for title, counted in (("copy", copies), ("a few changes", changes)):
        _tell(place, f"run from {one.scheme} to {other.scheme}: {title}", (source, target), counted)


def _counted(place: Workplace, sides: tuple[Database, ...], *words: str) -> list[Counts]:
    """What each side was asked by a command, which has to do its work."""
    with _recordings(sides) as recorded:
        ended = place.call(*words, "--master", "local[1]", "--quiet")
    assert ended.code in (0, 1, 3), ended.err
    counted = []
    for statements in recorded:
        texts = [each.text for each in statements if not _ALIVE.search(each.text)]
        reads = (f"reads of {table}" for text in texts for table in read_tables(text))
        counted.append(Counter([f"commands that end with {ended.code}", *reads, *map(kind, texts)]))
    return counted


def _tell(place: Workplace, title: str, sides: tuple[Database, ...], runs: list[list[Counts]]) -> None:
    place.title(title)
    for side, counted in zip(sides, zip(*runs, strict=True), strict=True):
        least = reduce(and_, counted)
        place.lines.append(f"{side.server.scheme}:")
        place.lines += [f"  {each}: {least[each]}" for each in sorted(least)]


@contextmanager
def _recordings(sides: tuple[Database, ...]) -> Iterator[list[list[Statement]]]:
    """What each side was asked in the block; both may be on one server."""
    recorded: list[list[Statement]] = []
    with ExitStack() as stack:
        asked = {id(server): stack.enter_context(server.recording()) for server in {side.server for side in sides}}
        yield recorded
    for side in sides:
        recorded.append([each for each in asked[id(side.server)] if each.database == side.name])


def read_tables(text: str) -> set[str]:
    """The user's tables that a statement reads."""
    asks = not text.upper().startswith(("DELETE", "EXPLAIN", "SHOW"))
    return set(_READS.findall(text)) & set(TABLES) if asks else set()


def kind(text: str) -> str:
    """The first words of a statement, in capitals, and the table that it writes or makes."""
    bare = re.sub(r"/\*.*?\*/|--[^\n]*", " ", text, flags=re.DOTALL).strip()
    bare = re.sub(r"\btieout_stage_\w+", "tieout_stage_…", bare)
    if match := _TARGET.match(bare):
        return f"{' '.join(match[1].upper().split())} {match[2]}"
    words = re.findall(r"[A-Za-z_]+", bare)[:2]
    if not words:
        return bare[:20]
    first = words[0].upper()
    return f"{first} {words[1].upper()}" if first in _TWO_WORDS and len(words) > 1 else first
