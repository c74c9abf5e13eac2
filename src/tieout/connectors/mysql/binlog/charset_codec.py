"""Ways of turning bytes into text."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Decoding:
    """Text by one of Python's codecs, by a table of 256 characters, or spelled out; by none: bytes stay bytes.

    Of two bytes or more to a character: `characters` has all that there are.
    """

    codec: str = ""
    table: str = ""
    characters: Mapping[bytes, str] = field(default_factory=dict)

    @property
    def binary(self) -> bool:
        return not (self.codec or self.table or self.characters)

    @property
    def value(self) -> str:
        """The expression of a value whose bytes are {data}, as in Form."""
        if self.table:
            return "charmap({data}, 'strict', table{own})[0]"
        if self.characters:
            return "spelled({data}, table{own})"
        # Without a name, decode() takes the shortest way there is.
        name = "" if self.codec == "utf-8" else f"'{self.codec}'"
        return f"{{data}}.decode({name})" if self.codec else "{data}"

    @property
    def names(self) -> Mapping[str, Any]:
        return {} if self.codec or self.binary else {"table": self.table or self.characters}

    def text(self, data: bytes, errors: str = "strict") -> str:
        if self.table:
            return codecs.charmap_decode(data, errors, self.table)[0]
        if self.characters:
            return spelled(data, self.characters)
        return data.decode(self.codec or "utf-8", errors)

    @property
    def keeps_ascii(self) -> bool:
        """Whether a byte of ASCII is always a character of its own, and never the second half of another one."""
        return self.binary or bool(self.table) or self.codec in ("utf-8", "ascii", "gb2312")


BINARY = Decoding()


def spelled(data: bytes, characters: Mapping[bytes, str]) -> str:
    """Text by its characters, of one to three bytes each."""
    if data.isascii():
        return data.decode("ascii")
    text, at = [], 0
    while at < len(data):
        for end in (at + 1, at + 2, at + 3):
            character = characters.get(data[at:end])
            if character is not None:
                text.append(character)
                at = end
                break
        else:
            raise UnicodeDecodeError("this character set", data, at, at + 1, "no character begins here")
    return "".join(text)
