"""Tables as a log describes them, ready to decode their rows."""

from __future__ import annotations

from contextlib import closing
from functools import lru_cache

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog import types
from tieout.connectors.mysql.binlog.charset_codec import Charsets
from tieout.connectors.mysql.binlog.forms import Form, form_of
from tieout.connectors.mysql.binlog.row_decoder import Decoder, Slot, decoder
from tieout.connectors.mysql.binlog.server import fraction_digits
from tieout.connectors.mysql.binlog.table_map import LogColumn, TableMap, table_map
from tieout.connectors.mysql.errors import translated
from tieout.connectors.mysql.session import connect
from tieout.errors import ReadError, UnsupportedError
from tieout.model.row_changes import LogTable

_MOST = 1_000
"""Descriptions to remember: a table has a new one whenever it is altered."""


class Layout:
    """A table with the decoders of its rows: one for each choice of columns that an event has."""

    def __init__(self, described: TableMap, charsets: Charsets) -> None:
        if not described.named:
            raise UnsupportedError(
                f"{described.name}: the log does not name its columns",
                "SET GLOBAL binlog_row_metadata = FULL; what was logged before can't be read",
            )
        self.table = LogTable(described.name, tuple(column.name for column in described.columns))
        self.width = len(described.columns)
        self._columns = described.columns
        self._forms = [_form(described, column, charsets) for column in described.columns]
        self._decoders: dict[tuple[bytes, ...], Decoder] = {}

    def decoder(self, *present: bytes) -> Decoder:
        """For one image or two, each with the columns whose bits are set."""
        found = self._decoders.get(present)
        if found is None:
            if not any(map(any, present)):
                raise UnsupportedError(f"{self.table.name}: rows without any column", "set binlog_row_image = FULL")
            found = self._decoders[present] = decoder([self._slots(bits) for bits in present])
        return found

    def _slots(self, bits: bytes) -> list[Slot]:
        return [
            Slot(column.name, form if bits[place // 8] >> place % 8 & 1 else None, column.nullable)
            for place, (column, form) in enumerate(zip(self._columns, self._forms, strict=True))
        ]


def _form(described: TableMap, column: LogColumn, charsets: Charsets) -> Form:
    form = form_of(column, charsets.decoding)
    if form is None:
        kind = "JSON in MySQL's binary form" if column.type == types.JSON else f"type {column.type}"
        raise UnsupportedError(f"{described.name}: column {column.name} can't be read from the log: {kind}")
    return form


class Layouts:
    """The layouts of one server's tables, by their descriptions."""

    def __init__(self, url: EndpointUrl, mariadb: bool) -> None:
        self.charsets = Charsets(url)
        self._url = url
        self.mariadb = mariadb
        self._known: dict[bytes, Layout] = {}

    def of(self, body: bytes) -> Layout:
        """That of a table map. Its first bytes are a number that the table has for a while only."""
        description = body[8:]
        found = self._known.get(description)
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = self._known[description] = self._made(table_map(body, self.mariadb))
        return found

    def _made(self, described: TableMap) -> Layout:
        self._check_old_times(described)
        try:
            return Layout(described, self.charsets)
        except UnicodeDecodeError as error:
            raise ReadError(f"{described.name}: has labels that are no text: {error}") from None

    def _check_old_times(self, described: TableMap) -> None:
        """The log does not tell how long the fraction of an old DATETIME is; without one it is what it seems to be."""
        old = [column.name for column in described.columns if column.type in types.OLD_TEMPORAL]
        if not old:
            return
        with translated(self._url), closing(connect(self._url)) as connection:
            digits = fraction_digits(connection, described.name)
        for column in old:
            if digits.get(column) != 0:
                raise UnsupportedError(
                    f"{described.name}: column {column} is in a format that MariaDB's log does not tell the length of",
                    f"SET GLOBAL mysql56_temporal_format = ON; ALTER TABLE {described.name} FORCE",
                )


@lru_cache(maxsize=8)
def layouts_of(url: EndpointUrl, mariadb: bool) -> Layouts:
    """Kept from one read to the next: a decoder takes longer to write than a small read takes."""
    return Layouts(url, mariadb)
