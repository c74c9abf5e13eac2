"""Turns bytes into text: the character sets of a server, by the numbers of their collations."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.session import MySQLSession
from tieout.errors import UnsupportedError

_CODECS = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "ascii": "ascii",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "cp932": "cp932",
    "gbk": "gbk",
    "gb2312": "gb2312",
    "gb18030": "gb18030",
    "euckr": "cp949",
}
"""Character sets where Python's codec agrees with MariaDB in every character. Not in big5, sjis, ujis, eucjpms."""

_AT_ONCE = 4096
"""Columns of one query."""
_UNDEFINED = "\ufffe"
"""A character that Python's charmap_decode refuses."""


class Charsets:
    """The collations of one server; asks it for them when the first text needs one."""

    def __init__(self, url: EndpointUrl) -> None:
        self._url = url
        self._decodings: dict[str, Decoding] = {"binary": BINARY}

    def decoding(self, collation: int) -> Decoding:
        """How to decode text of a collation. 0 stands for bytes, which have none."""
        if not collation:
            return BINARY
        charset = self._names.get(collation)
        if charset is None:
            raise UnsupportedError(f"{self._url.redacted()}: the log names collation {collation}; the server has none")
        if charset not in self._decodings:
            codec = _CODECS.get(charset)
            self._decodings[charset] = Decoding(codec) if codec else self._from_server(charset)
        return self._decodings[charset]

    @cached_property
    def _names(self) -> dict[int, str]:
        """Since 10.10, MariaDB has collations of many character sets; only one table has their number for each."""
        with closing(MySQLSession(self._url)) as session:
            rows = session.rows("SELECT id, character_set_name FROM information_schema.collations")
            if session.rows(
                """SELECT 1 FROM information_schema.columns WHERE table_schema = 'information_schema'
                    AND table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY' AND column_name = 'ID'"""
            ):
                rows += session.rows(
                    "SELECT id, character_set_name FROM information_schema.collation_character_set_applicability"
                )
        return {int(number): name for number, name in rows if number is not None and name is not None}

    def _from_server(self, charset: str) -> Decoding:
        with closing(MySQLSession(self._url)) as session:
            known = "SELECT maxlen FROM information_schema.character_sets WHERE character_set_name"
            ((longest,),) = session.rows(f"{known} = {quoting.text(charset)}")
            characters = dict(_characters(session, charset, int(longest)))
        if longest > 1:
            return Decoding(characters=characters)
        return Decoding(table="".join(characters.get(bytes([byte]), _UNDEFINED) for byte in range(256)))


def _characters(session: MySQLSession, charset: str, longest: int) -> Iterator[tuple[bytes, str]]:
    """Each sequence of bytes that is a character, with the character. The server returns a question mark for others."""
    sequences = _sequences(longest)
    while some := list(islice(sequences, _AT_ONCE)):
        columns = (f"CONVERT(CONVERT({quoting.octets(each)} USING {charset}) USING utf8mb4)" for each in some)
        (texts,) = session.rows(f"SELECT {', '.join(columns)}")
        for sequence, text in zip(some, texts, strict=True):
            if text is not None and len(text) == 1 and (text != "?" or sequence == b"?"):
                yield sequence, text


def _sequences(longest: int) -> Iterator[bytes]:
    """All byte sequences that may be a character: those of three bytes start with 8F, in the sets that have any."""
    yield from (bytes([one]) for one in range(256))
    if longest >= 2:
        yield from (bytes([one, two]) for one in range(0x80, 0x100) for two in range(0x100))
    if longest >= 3:
        yield from (bytes([0x8F, one, two]) for one in range(0xA0, 0x100) for two in range(0xA0, 0x100))


@dataclass(frozen=True, slots=True)
class Decoding:
    """Decodes text by a codec of Python, by a table of 256 characters, or by a mapping; without any, bytes stay bytes.

    `characters` maps all byte sequences of a set whose characters have one to three bytes.
    """

    codec: str = ""
    table: str = ""
    characters: Mapping[bytes, str] = field(default_factory=dict)

    @property
    def binary(self) -> bool:
        return not (self.codec or self.table or self.characters)

    @property
    def value(self) -> str:
        """The Python expression for a value whose bytes are {data}, as in Form."""
        if self.table:
            return "charmap({data}, 'strict', table{own})[0]"
        if self.characters:
            return "spelled({data}, table{own})"
        # Without a name, decode() takes its fastest path.
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
        """Whether an ASCII byte is always a character of its own, and never the second half of another one."""
        return self.binary or bool(self.table) or self.codec in ("utf-8", "ascii", "gb2312")


BINARY = Decoding()


def spelled(data: bytes, characters: Mapping[bytes, str]) -> str:
    """Decodes text whose characters have one to three bytes each."""
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
