"""What a statement's text in the log means, by its first words."""

from __future__ import annotations

import re
from enum import Enum, auto

_LEAD = re.compile(
    r"""(?: \s+ | \( | ;
          | /\*M?!\d*             # code for some versions, not a comment
          | /\*(?!M?!).*?\*/
          | (?:--\s|\#).*?(?:\n|$)
        )*""",
    re.DOTALL | re.VERBOSE,
)
_SETTINGS = re.compile(r"SET\s+STATEMENT\b.*?\bFOR\b", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"/\*(?!M?!).*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")

_NAME = r"(?:`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[\w$\x80-\U0010ffff]+)"
_TRUNCATE = re.compile(rf"TRUNCATE\s+(?:TABLE\b\s*)?(?:(?P<schema>{_NAME})\s*\.\s*)?(?P<name>{_NAME})", re.IGNORECASE)

_CHANGES_ROWS = frozenset(
    ["INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "SELECT", "DO", "WITH", "VALUES", "HANDLER", "EXECUTE"]
)


class Meaning(Enum):
    """OTHER is what is no change of rows: DDL, and all that is like it."""

    BEGIN = auto()
    COMMIT = auto()
    ROLLBACK = auto()
    ROLLBACK_TO = auto()
    SAVEPOINT = auto()
    RELEASE = auto()
    XA = auto()
    XA_COMMIT = auto()
    TRUNCATE = auto()
    ROWS = auto()
    OTHER = auto()


def meaning(text: str) -> Meaning:
    begin = _LEAD.match(text)
    at = begin.end() if begin else 0
    words = [word.upper() for word in _WORD.findall(text, at, at + 100)[:4]]
    first = words[0] if words else ""
    if first == "SET" and (settings := _SETTINGS.match(text, at)):
        return meaning(text[settings.end() :])
    if first == "ANALYZE" and _CHANGES_ROWS.intersection(words):
        return Meaning.ROWS
    if first in ("BEGIN", "COMMIT", "TRUNCATE", "SAVEPOINT", "RELEASE"):
        return Meaning[first]
    if first == "ROLLBACK":
        return Meaning.ROLLBACK_TO if "TO" in words else Meaning.ROLLBACK
    if first == "XA":
        return Meaning.XA_COMMIT if words[1:2] == ["COMMIT"] else Meaning.XA
    if first == "START" and words[1:2] == ["TRANSACTION"]:
        return Meaning.BEGIN
    return Meaning.ROWS if first in _CHANGES_ROWS else Meaning.OTHER


def truncated(text: str) -> tuple[str | None, str] | None:
    """Schema, if it is named, and table of a TRUNCATE; None if they can't be told."""
    bare = _COMMENT.sub(" ", text)
    found = _TRUNCATE.search(bare)
    if not found:
        return None
    return _unquoted(found["schema"]) if found["schema"] else None, _unquoted(found["name"])


def _unquoted(name: str) -> str:
    quote = name[0]
    return name[1:-1].replace(quote * 2, quote) if quote in '`"' else name
