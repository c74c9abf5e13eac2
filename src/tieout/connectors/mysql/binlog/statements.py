"""Statements in the log: the schema they ran in, their text, and what it means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import islice
from struct import Struct

from tieout.connectors.mysql.binlog.byte_reader import inflated_event
from tieout.connectors.mysql.binlog.codes import EXECUTE_LOAD, QUERY_COMPRESSED
from tieout.connectors.mysql.binlog.ddl_tokens import USUAL, NotCheckable, NotUnderstood, Rules, Word, Words, words_in
from tieout.errors import ReadError

_head_of = Struct("<IIBHH").unpack_from
_HEAD, _LOAD_HEAD = 13, 26

# Variables before a text: the lengths of the values that may precede the client's character set.
_FLAGS, _SQL_MODE, _AUTO_INCREMENT, _CHARSET, _CATALOG = 0, 1, 3, 4, 6
_LENGTHS = {_FLAGS: 4, _SQL_MODE: 8, _AUTO_INCREMENT: 4}


@dataclass(frozen=True, slots=True)
class Query:
    """`raw` is in the character set of its client: `collation` is its number, 0 if the log does not have it.

    `sql_mode` is that of the session, in bits; None if the log does not have it.
    """

    schema: str
    raw: bytes
    collation: int
    sql_mode: int | None = 0

    @property
    def text(self) -> str:
        """The text as far as it is ASCII: keywords, and most names."""
        return self.raw.decode("ascii", errors="replace")


def query_of(kind: int, body: bytes) -> Query:
    _, _, schema_length, _, variables_length = _head_of(body)
    head = _LOAD_HEAD if kind == EXECUTE_LOAD else _HEAD
    schema_at = head + variables_length
    text_at = schema_at + schema_length + 1
    raw = body[text_at:]
    sql_mode, collation = _session_variables(body[head:schema_at])
    return Query(
        body[schema_at : text_at - 1].decode(),
        inflated_event(raw) if kind == QUERY_COMPRESSED else raw,
        collation,
        sql_mode,
    )


def _session_variables(variables: bytes) -> tuple[int | None, int]:
    """The session's sql_mode, and the collation of its character set."""
    at, sql_mode = 0, None
    while at < len(variables):
        name = variables[at]
        if name == _SQL_MODE:
            sql_mode = int.from_bytes(variables[at + 1 : at + 9], "little")
        if name == _CHARSET:
            return sql_mode, int.from_bytes(variables[at + 1 : at + 3], "little")
        if name == _CATALOG:
            at += 2 + variables[at + 1]
        elif name in _LENGTHS:
            at += 1 + _LENGTHS[name]
        else:
            break
    return sql_mode, 0


_CHANGES_ROWS = frozenset(
    ["INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "SELECT", "DO", "WITH", "VALUES", "HANDLER", "EXECUTE"]
)
_HOW_IT_ENDS = frozenset(["WORK", "AND", "NO", "CHAIN", "RELEASE", ";"])
_ACCENTS = re.compile("[\u0300-\u036f]")


class Meaning(Enum):
    """OTHER does not change rows: DDL, and everything similar or unknown."""

    BEGIN = auto()
    COMMIT = auto()
    ROLLBACK = auto()
    ROLLBACK_TO = auto()
    SAVEPOINT = auto()
    RELEASE = auto()
    XA = auto()
    XA_START = auto()
    XA_COMMIT = auto()
    XA_ROLLBACK = auto()
    TRUNCATE = auto()
    ROWS = auto()
    OTHER = auto()


_WHOLE = {"BEGIN": Meaning.BEGIN, "COMMIT": Meaning.COMMIT, "ROLLBACK": Meaning.ROLLBACK}
"""Texts that servers write by themselves, millions of times: one word under all rules."""

_XA = {
    "START": Meaning.XA_START,
    "BEGIN": Meaning.XA_START,
    "COMMIT": Meaning.XA_COMMIT,
    "ROLLBACK": Meaning.XA_ROLLBACK,
}


def meaning(text: str, rules: Rules = USUAL) -> Meaning:
    """Judges a statement by its first words, and reads no more of it."""
    if (known := _WHOLE.get(text)) is not None:
        return known
    try:
        return _meaning(word.key for word in statement_words(text, rules))
    except NotCheckable:
        return Meaning.OTHER


def _meaning(keys: Iterator[str]) -> Meaning:
    first = next(keys, "")
    if first in _CHANGES_ROWS:
        return Meaning.ROWS
    if first in ("TRUNCATE", "SAVEPOINT", "RELEASE"):
        return Meaning[first]
    if first == "ANALYZE" and _CHANGES_ROWS.intersection(islice(keys, 4)):
        return Meaning.ROWS
    if first == "XA":
        return _XA.get(next(keys, ""), Meaning.XA)
    if first == "START":
        return Meaning.BEGIN if next(keys, "") == "TRANSACTION" else Meaning.OTHER
    if first in _WHOLE:
        rest = list(keys)
        if first == "ROLLBACK" and "TO" in rest[:2]:
            return Meaning.ROLLBACK_TO
        if _HOW_IT_ENDS.issuperset(rest):
            return _WHOLE[first]
    return Meaning.OTHER


def statement_words(text: str, rules: Rules = USUAL) -> Iterator[Word]:
    """The words of the statement itself, after its own settings (SET STATEMENT … FOR)."""
    words = words_in(text, rules)
    first = next((word for word in words if word.key not in (";", "(")), None)
    if first is None:
        return
    second = next(words, None) if first.key == "SET" else None
    if second is None or second.key != "STATEMENT":
        yield first
        if second is not None:
            yield second
        yield from words
    elif rules.sql_mode is not None and "SQL_MODE" in text.upper():
        # The log has the sql_mode that is set here; the server read the text with the one before.
        yield from statement_words(text, replace(rules, sql_mode=None))
    else:
        yield from _behind_settings(words)


def _behind_settings(words: Iterator[Word]) -> Iterator[Word]:
    depth = 0
    for word in words:
        depth += {"(": 1, ")": -1}.get(word.key, 0)
        if word.key == "FOR" and depth == 0:
            yield from words
            return
    raise NotCheckable("settings without a statement")


def whole_statement(text: str, rules: Rules = USUAL) -> list[Word]:
    """All words of a statement, without trailing semicolons."""
    words = list(statement_words(text, rules))
    while words and words[-1].key == ";":
        words.pop()
    return words


def truncated(text: str, rules: Rules = USUAL) -> tuple[str | None, str] | None:
    """Schema (None if not named) and table of a TRUNCATE; None if the statement is not understood."""
    try:
        at = Words(whole_statement(text, rules))
        if not at.skip("TRUNCATE"):
            return None
        at.skip("TABLE")
        name = at.name("")
        at.skip_waiting()
        if not at.skip("DROP", "STORAGE"):
            at.skip("REUSE", "STORAGE")
        at.end()
    except (NotCheckable, NotUnderstood):
        return None
    return name.schema or None, name.name


def savepoint(text: str, rules: Rules = USUAL) -> str | None:
    """The name in a SAVEPOINT or a ROLLBACK TO, the same for all spellings that are equal to a server; None if unknown.

    Servers compare these names without case and accents (utf8_general_ci).
    """
    try:
        at = Words(whole_statement(text, rules))
        if at.skip("ROLLBACK"):
            at.skip("WORK")
            at.skip("TO")
        at.skip("SAVEPOINT")
        name = at.part()
        at.end()
    except (NotCheckable, NotUnderstood):
        return None
    return _ACCENTS.sub("", unicodedata.normalize("NFD", name)).upper()


def xid_of(text: str) -> bytes:
    """The name in an XA statement, in the form that MariaDB's GTID events use."""
    try:
        at = Words(list(words_in(text)))
        at.take(), at.take()
        words = [part.take() for part in at.parts()]
        names = [bytes.fromhex(word.text) if word.key == "?" else word.text.encode() for word in words[:2]]
        gtrid, bqual = [*names, b""][:2]
        form = int(words[2].text) if len(words) > 2 else 1
        return form.to_bytes(4, "little") + bytes([len(gtrid), len(bqual)]) + gtrid + bqual
    except (NotCheckable, ValueError, OverflowError):
        raise ReadError(f"the log has an XA transaction with an unreadable name: {text[:100]}") from None
