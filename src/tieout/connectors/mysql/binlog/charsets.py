"""The character sets of a server, by the numbers of their collations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from itertools import islice
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.binlog.charset_codec import BINARY, Decoding
from tieout.connectors.mysql.faults import translated
from tieout.connectors.mysql.session import connect
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
"""Where Python's codec says the same as MariaDB for every character: it does not for big5, sjis, ujis and eucjpms."""

_AT_ONCE = 4096
"""Columns of a query."""
_UNDEFINED = "\ufffe"
"""What Python's charmap_decode refuses."""


class Charsets:
    """What the collations of one server stand for; asks it when the first text comes by that needs it."""

    def __init__(self, url: EndpointUrl) -> None:
        self._url = url
        self._decodings: dict[str, Decoding] = {"binary": BINARY}

    def decoding(self, collation: int) -> Decoding:
        """0 is no collation at all: bytes."""
        if not collation:
            return BINARY
        charset = self._names.get(collation)
        if charset is None:
            raise UnsupportedError(f"{self._url.redacted()}: the log names collation {collation}; the server has none")
        if charset not in self._decodings:
            codec = _CODECS.get(charset)
            self._decodings[charset] = Decoding(codec) if codec else self._asked(charset)
        return self._decodings[charset]

    @cached_property
    def _names(self) -> dict[int, str]:
        """Since 10.10 MariaDB has collations of many character sets, which have a number for each in one table only."""
        with closing(_Server(self._url)) as server:
            rows = server.rows("SELECT id, character_set_name FROM information_schema.collations")
            if server.rows(
                """SELECT 1 FROM information_schema.columns WHERE table_schema = 'information_schema'
                    AND table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY' AND column_name = 'ID'"""
            ):
                rows += server.rows(
                    "SELECT id, character_set_name FROM information_schema.collation_character_set_applicability"
                )
        return {int(number): name for number, name in rows if number is not None and name is not None}

    def _asked(self, charset: str) -> Decoding:
        with closing(_Server(self._url)) as server:
            known = "SELECT maxlen FROM information_schema.character_sets WHERE character_set_name"
            ((longest,),) = server.rows(f"{known} = {quoting.text(charset)}")
            characters = dict(server.characters(charset, int(longest)))
        if longest > 1:
            return Decoding(characters=characters)
        return Decoding(table="".join(characters.get(bytes([byte]), _UNDEFINED) for byte in range(256)))


class _Server:
    """A connection to ask with."""

    def __init__(self, url: EndpointUrl) -> None:
        self._url = url
        with translated(url):
            self._connection = connect(url)

    def close(self) -> None:
        self._connection.close()

    def rows(self, statement: str) -> list[Any]:
        with translated(self._url), self._connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def characters(self, charset: str, longest: int) -> Iterator[tuple[bytes, str]]:
        """The character of each sequence of bytes that is one. The server puts a question mark where it has none."""
        sequences = _sequences(longest)
        while some := list(islice(sequences, _AT_ONCE)):
            columns = (f"CONVERT(CONVERT({quoting.octets(each)} USING {charset}) USING utf8mb4)" for each in some)
            (texts,) = self.rows(f"SELECT {', '.join(columns)}")
            for sequence, text in zip(some, texts, strict=True):
                if text is not None and len(text) == 1 and (text != "?" or sequence == b"?"):
                    yield sequence, text


def _sequences(longest: int) -> Iterator[bytes]:
    """All that may be a character: those of three bytes begin with 8F, in the sets that have any."""
    yield from (bytes([one]) for one in range(256))
    if longest >= 2:
        yield from (bytes([one, two]) for one in range(0x80, 0x100) for two in range(0x100))
    if longest >= 3:
        yield from (bytes([0x8F, one, two]) for one in range(0xA0, 0x100) for two in range(0xA0, 0x100))
