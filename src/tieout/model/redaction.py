"""Values of rows, kept out of reports, logs and the meta store: keys and hashes remain.

The hash has a random key, which is discarded after the run. So equal values have equal hashes within a run, and nobody
can find a value by trying all candidates.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tieout.errors import TieoutError
from tieout.model.differences import Difference, ValuePair
from tieout.model.failures import CheckResult, Failure
from tieout.model.server_words import hidden

NOTE = "values of rows are redacted: a hash replaces each"

_MARK = "hash:"
_HIDDEN = re.compile(rf"{_MARK}[0-9a-f]{{16}}")

_DEFINITIONS = {"rule", "refers_to", "same_as", "expression", "definition", "sequence"}
"""Details of a failure about definitions, or about other rows' keys."""
_WORDS = {"reason", "message", "error"}
"""Details that are an engine's own words."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Hides values under one run's key. Picklable: hides values where they are read."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def value(self, text: str | None) -> str | None:
        """The value's hash; NULL and a hash stay as they are."""
        if text is None or is_hidden(text):
            return text
        return _MARK + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self.key, digest_size=8).hexdigest()

    def difference(self, found: Difference, *, keyed: bool) -> Difference:
        """Not `keyed`: the key is all the values of the row."""
        columns = {n: ValuePair(self.value(v.source), self.value(v.target)) for n, v in found.columns.items()}
        return replace(found, key=found.key if keyed else self._values(found.key), columns=columns)

    def failure(self, found: Failure) -> Failure:
        details = {name: self._detail(found, name, text) for name, text in found.details.items()}
        return replace(found, details=details)

    def result(self, found: CheckResult) -> CheckResult:
        return found if found.reason is None else replace(found, reason=without_values(found.reason))

    def _detail(self, found: Failure, name: str, text: str | None) -> str | None:
        # A column may have any name.
        if name in found.columns or (name not in _DEFINITIONS and name not in _WORDS):
            return self.value(text)
        return without_values(text) if text is not None and name in _WORDS else text

    def _values(self, row: Mapping[str, str | None]) -> dict[str, str | None]:
        return {name: self.value(text) for name, text in row.items()}


def is_hidden(text: str | None) -> bool:
    """Whether it is the hash that replaces a value."""
    return text is not None and _HIDDEN.fullmatch(text) is not None


_NAMED = (
    "relation|table|column|constraint|index|key|schema|database|user|role|type|function|sequence|view|trigger|field"
    "|host|file|server|socket|operator|collation|parameter|option|in|tablespace|extension|publication|slot|savepoint"
)
# What is quoted behind such a word is a name ('db'.'t', 'me'@'host' are one); all else that is quoted may be a value.
_NAME = re.compile(rf"\b(?:{_NAMED}) (?P<q>['\"`])[^'\"`]*(?P=q)(?:[.@](?P<r>['\"`])[^'\"`]*(?P=r))*", re.IGNORECASE)
_QUOTE = re.compile(r"(?<![A-Za-z0-9])['\"]|[\u00ab\u2018\u201a\u201c\u201e\u2039\u300c\u300e]")
_TAIL = re.compile(rf" (?:for|in|of|at|violates) (?:\w+ )*?(?:{_NAMED})\b", re.IGNORECASE)
_OF_KEY = re.compile(r"\)=\(.*\)", re.DOTALL)


def without_values(message: str) -> str:
    """An engine's or a driver's message, without what it quotes. Quoted names stay, if the word before them shows that
    they are names.
    """
    message = _OF_KEY.sub(")=(***)", message)
    names = {found.start("q"): found.end() for found in _NAME.finditer(message)}
    at = 0
    while (quote := _QUOTE.search(message, at)) is not None:
        if quote.start() in names:
            at = names[quote.start()]
            continue
        return message[: quote.start()] + "***" + _after_value(message, quote)
    return message


def _after_value(message: str, quote: re.Match[str]) -> str:
    """What follows a value, which may contain quotes itself: the value ends at the last quote, or at the last one
    before a name.
    """
    closing = [found.start() for found in re.finditer(re.escape(quote[0]), message) if found.start() > quote.start()]
    if not closing:
        return ""
    told = [place for place in closing if _TAIL.match(message, place + 1)]
    return message[(told[-1] if told else closing[-1]) + 1 :]


@contextmanager
def values_hidden(wanted: bool) -> Iterator[None]:
    """Errors that leave the block contain no values; inside, messages of servers are redacted."""
    try:
        with hidden(wanted):
            yield
    except TieoutError as error:
        if not wanted:
            raise
        hint = None if error.hint is None else without_values(error.hint)
        raise type(error)(without_values(error.message), hint) from None
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"  # of a driver in Rust; no Exception
        ours = type(error).__module__.startswith("tieout.")
        if not wanted or ours or not (panic or isinstance(error, Exception)):
            raise
        # The message may come from anywhere; the error's type is safe to show.
        line = f"{type(error).__name__} (its message is redacted)"
        raise RuntimeError(line).with_traceback(error.__traceback__) from None
