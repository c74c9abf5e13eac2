"""The only place that quotes what goes into PostgreSQL's SQL: names, texts, bytes, and SQL in a text.

Texts are for sessions with standard_conforming_strings, in which a quote is the only special character.
"""

from __future__ import annotations

from collections.abc import Iterable

from tieout.errors import UnsupportedError
from tieout.model.tables import TableName


def name(text: str) -> str:
    """Quotes any name: of a schema, a table, a column, a type, a constraint."""
    return '"' + _whole(text).replace('"', '""') + '"'


def table(full: TableName) -> str:
    return f"{name(full.schema)}.{name(full.name)}"


def names(texts: Iterable[str]) -> str:
    """Quotes a list of names: columns, the schemas of a search_path."""
    return ", ".join(map(name, texts))


def text(value: str) -> str:
    """Quotes any text, including SQL that PostgreSQL takes as a text: DO, regclass, set_config."""
    return "'" + _whole(value).replace("'", "''") + "'"


def relation(full: TableName) -> str:
    """A table, an index or a sequence as a regclass: 'schema.name'::regclass."""
    return f"{text(table(full))}::pg_catalog.regclass"


def octets(value: bytes) -> str:
    return f"'\\x{value.hex()}'"


def row_place(block: int, item: int) -> str:
    """A ctid."""
    return f"'({block:d},{item:d})'::pg_catalog.tid"


def unquoted(literal: str) -> str:
    """The inverse of `text`; returns a number as it is."""
    return literal[1:-1].replace("''", "'") if literal.startswith("'") else literal


def array_element(value: str) -> str:
    """An element of an array's text."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def array_of_one(value: str) -> str:
    """The text of an array whose only element has this text."""
    return text("{" + array_element(value) + "}")


def shown(full: TableName) -> str:
    """A name that people can paste into a statement: quoted only where necessary."""
    return ".".join(part if _is_plain(part) else name(part) for part in (full.schema, full.name))


def _is_plain(part: str) -> bool:
    plain = part.replace("_", "a")
    return plain.isascii() and plain.isalnum() and plain.islower() and not part[0].isdigit()


def _whole(value: str) -> str:
    # libpq would cut the statement there, and the server would run half of it.
    if "\0" in value:
        raise UnsupportedError(f"PostgreSQL allows no NUL in a name or a text: {value[:60]!r}")
    return value
