"""How many statements the servers are asked by verify, check and run, by kind, and how often each table is read.

Nothing here may depend on time: chunks have a number of rows, one task runs at a time. What a mover asks again and
again while it waits (its log, its progress, its heartbeat) is told without a number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tools.golden_parts.running import Workplace, workplace
from tools.golden_parts.shop import CHANGES, SPOILING, TABLES, change, configuration, fill, servers

if TYPE_CHECKING:
    from tests.servers.server import Database, Statement

_TWO_WORDS = {"CREATE", "DROP", "ALTER", "SHOW", "SET", "START", "LOCK", "INSERT", "DELETE", "COPY", "LOAD", "UNLOCK"}
_READS = re.compile(r"\b(?:FROM|JOIN)\s+(?:[`\"]?\w+[`\"]?\.)?[`\"]?(\w+)[`\"]?", re.IGNORECASE)
_NAME = r"(?:[`\"]?\w+[`\"]?\.)?[`\"]?(\w+…?)[`\"]?"
_TARGET = re.compile(
    rf"^(INSERT INTO|DELETE FROM|UPDATE|COPY|(?:CREATE|DROP|ALTER) TABLE(?: IF (?:NOT )?EXISTS)?)\s+{_NAME}", re.I
)
_WAITING = re.compile(r"SHOW (?:MASTER|BINARY|BINLOG|SLAVE)|pg_current_wal|pg_logical_slot|pg_replication_slots", re.I)


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
                _counted(place, f"check on {server.scheme}", (side,), *words)
        for one, other in ((maria, postgres), (postgres, maria)):
            with both.database(one, "shop_old") as source, both.database(other, "shop_new") as target:
                fill(source)
                _move(place, source, target)
        return place.text()


def _verified(place: Workplace, old: Database, new: Database, strategies: tuple[str, ...]) -> None:
    """Two shops with some differences."""
    fill(old)
    fill(new)
    change(new, SPOILING)
    pair = ("--source", old.url, "--target", new.url, "--chunk-rows", "50", "--recheck-times", "0")
    for strategy in strategies:
        title = f"verify from {old.server.scheme} to {new.server.scheme}, {strategy}"
        _counted(place, title, (old, new), "verify", *pair, "--strategy", strategy)


def _move(place: Workplace, source: Database, target: Database) -> None:
    title = f"run from {source.server.scheme} to {target.server.scheme}"
    (place.directory / "tieout.yaml").write_text(configuration(source.url, target.url))
    store = f"sqlite:///{place.directory}/{source.server.scheme}.db"
    words = ("run", "shop", "--until-caught-up", "--meta", store)
    _counted(place, f"{title}: copy", (source, target), *words)
    change(source, CHANGES)
    _counted(place, f"{title}: a few changes", (source, target), *words)


def _counted(place: Workplace, title: str, sides: tuple[Database, ...], *words: str) -> None:
    with _recordings(sides) as recorded:
        ended = place.call(*words, "--master", "local[1]", "--quiet")
    place.title(title)
    place.lines += [f"exit {ended.code}", *place.normaliser.text(ended.err).splitlines()]
    for side, statements in zip(sides, recorded, strict=True):
        texts = [statement.text for statement in statements]
        place.lines.append(f"{side.server.scheme}:")
        place.lines += [f"  reads of {table}: {count}" for table, count in _reads(texts).items()]
        counts = Counter(map(kind, texts))
        place.lines += [f"  {each}: {'some' if kept_on(each) else counts[each]}" for each in sorted(counts)]


@contextmanager
def _recordings(sides: tuple[Database, ...]) -> Iterator[list[list[Statement]]]:
    """What each side was asked in the block; both may be on one server."""
    recorded: list[list[Statement]] = []
    with ExitStack() as stack:
        asked = {id(server): stack.enter_context(server.recording()) for server in {side.server for side in sides}}
        yield recorded
    for side in sides:
        recorded.append([each for each in asked[id(side.server)] if each.database == side.name])


def _reads(texts: list[str]) -> dict[str, int]:
    """Statements that read each of the user's tables."""
    found = Counter(
        name for text in texts for name in set(_READS.findall(text)) if not text.upper().startswith("DELETE")
    )
    return {table: found[table] for table in TABLES}


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


def kept_on(name: str) -> bool:
    """Whether it is asked as long as a mover waits."""
    return False
