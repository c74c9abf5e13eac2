"""Values that are too long to keep: their beginning, with the length and the hash of all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONGEST_KEPT = 65_536
"""The most bytes of a value to store whole. Keys of indexes are shorter: 3,072 bytes in MariaDB."""
LONGEST_IN_FAILURE = 4096
"""The same for failures of a check, which lists more rows."""
SHORTEST_KEPT = 64
"""A value of at most this many bytes is always stored whole, however many there are."""
BEGINNING = 1000
"""How many characters of a longer value to store."""

_TOGETHER = 1 << 20
"""The most bytes of all values of a row: the meta store holds them in one of its own rows."""


def longest_of(values: int, longest: int = LONGEST_KEPT) -> int:
    """The most bytes that each of `values` values of a row may have to be stored whole."""
    return min(longest, max(SHORTEST_KEPT, _TOGETHER // max(values, 1)))


class TruncatedText(str):
    """The beginning of a value's canonical text.

    As text it reads `beginning… (67,108,864 bytes, xxh3 0f3a…)`, so two of them are equal only if the values are. It is
    for people and for comparisons; never write it into a database: read the value again.
    """

    beginning: str
    length: int
    hash: str

    def __new__(cls, beginning: str, length: int, digest: str) -> TruncatedText:
        self = super().__new__(cls, f"{beginning}… ({length:,} bytes, xxh3 {digest})")
        self.beginning, self.length, self.hash = beginning, length, digest
        return self

    def __reduce__(self) -> Any:
        return TruncatedText, (self.beginning, self.length, self.hash)

    def document(self) -> dict[str, Any]:
        """For scripts: how many characters of the text are the value's own, its size in bytes, its hash."""
        return {"kept": len(self.beginning), "length": self.length, "xxh3": self.hash}


Stored = str | None | Mapping[str, Any]
"""A value in a JSON document of the meta store: a truncated one is an object."""


def stored(value: str | None) -> Stored:
    return {"text": str(value), **value.document()} if isinstance(value, TruncatedText) else value


def restored(value: Stored) -> str | None:
    return _from(value["text"], value) if isinstance(value, Mapping) else value


def is_whole(values: Mapping[str, str | None]) -> bool:
    return not any(isinstance(value, TruncatedText) for value in values.values())


def truncated_documents(values: Mapping[str, str | None]) -> dict[str, Any]:
    """The documents of the truncated values, by name."""
    return {name: value.document() for name, value in values.items() if isinstance(value, TruncatedText)}


def with_truncated(values: Mapping[str, str | None], documents: Mapping[str, Any]) -> dict[str, str | None]:
    """Reads the values from their texts and their `truncated_documents`."""
    return {
        name: value if value is None or name not in documents else _from(value, documents[name])
        for name, value in values.items()
    }


def _from(text: str, document: Mapping[str, Any]) -> TruncatedText:
    return TruncatedText(text[: document["kept"]], document["length"], document["xxh3"])
