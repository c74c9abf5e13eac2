"""How a table is compared: by which hash, and in which parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tieout.connectors.protocols.endpoint import Capabilities
from tieout.errors import UnsupportedError
from tieout.model.results import Strategy
from tieout.verification.columns import ColumnPair


@dataclass(frozen=True, slots=True)
class Choice:
    strategy: Strategy
    reasons: tuple[str, ...]


def choose_strategy(
    asked: Strategy, source: Capabilities, target: Capabilities, pairs: Sequence[ColumnPair], *, slow_link: bool = False
) -> Choice:
    """The strategy asked for, or the cheapest that fits. UnsupportedError if what was asked can't be."""
    no_native, no_pushdown = _against_native(source, target, pairs), _against_pushdown(source, target, pairs)
    if asked is Strategy.NATIVE and no_native:
        raise UnsupportedError(f"native can't be used: {no_native}", "use --strategy auto")
    if asked is Strategy.PUSHDOWN and no_pushdown:
        raise UnsupportedError(f"pushdown can't be used: {no_pushdown}", "use --strategy auto")
    if asked is not Strategy.AUTO:
        return Choice(asked, (f"{asked} was asked for",))
    if no_native is None:
        return Choice(Strategy.NATIVE, ("native: the same engine and types on both sides, hashed where the rows are",))
    if slow_link and no_pushdown is None:
        return Choice(Strategy.PUSHDOWN, (f"not native: {no_native}", "pushdown: the link is slow"))
    return Choice(Strategy.PULL, (f"not native: {no_native}", "pull: rows are hashed on the executors, 128 bits"))


def _against_native(source: Capabilities, target: Capabilities, pairs: Sequence[ColumnPair]) -> str | None:
    if source.family != target.family:
        return f"{source.family} and {target.family} hash differently"
    if not source.native_hash:
        return f"{source.family} has no hash of its own that could say equal"
    return _against_hashes(pairs)


def _against_pushdown(source: Capabilities, target: Capabilities, pairs: Sequence[ColumnPair]) -> str | None:
    if source.family != target.family:
        return f"{source.family} and {target.family} write values as different text"
    if not source.sql_hash:
        return f"{source.family} has no cryptographic hash in SQL"
    return _against_hashes(pairs)


def _against_hashes(pairs: Sequence[ColumnPair]) -> str | None:
    """Of equal values there may be two that an engine hashes differently."""
    for pair in pairs:
        if not pair.plain:
            return f"column {pair.source.name} has a tolerance or an expression"
        if not pair.same_type:
            return f"column {pair.source.name} is {pair.source.type} here and {pair.target.type} there"
    return None
