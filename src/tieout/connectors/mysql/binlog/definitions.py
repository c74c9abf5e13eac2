"""What a statement does to the definitions of tables that are followed."""

from __future__ import annotations

from collections.abc import Iterator

from tieout.connectors.mysql.binlog.alters import Alters
from tieout.connectors.mysql.binlog.wanted import Wanted
from tieout.connectors.mysql.binlog.words import Unreadable, Word, Words, words_of
from tieout.model.changes import Redefined
from tieout.model.tables import TableName

_NO_ROWS = frozenset(
    [
        "ANALYZE",
        "OPTIMIZE",
        "CHECK",
        "REPAIR",
        "FLUSH",
        "GRANT",
        "REVOKE",
        "SET",
        "INSTALL",
        "UNINSTALL",
        "CACHE",
        "USE",
    ]
)
_OTHER_OBJECTS = frozenset(
    [
        *("VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE", "SEQUENCE", "SERVER", "PACKAGE"),
        *("LOGFILE", "TABLESPACE", "AGGREGATE", "UNDO"),
    ]
)
_BEFORE_OBJECT = ("OR", "REPLACE", "ONLINE", "OFFLINE", "IGNORE", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR")


def redefined(text: str, schema: str, wanted: Wanted) -> tuple[Redefined, ...]:
    """What becomes of wanted tables; `schema` is the one that the statement was run in.

    Only what is known to leave rows as they are, or to be told with rows, is left out: of a statement that is not
    understood each table is taken to be changed whose name is in it.
    """
    try:
        words = words_of(text)
    except Unreadable:
        found = (table for table in wanted.tables if table.name.lower() in text.lower())
        return tuple(Redefined(table, reason="a statement that can't be read names it") for table in found)
    changes = ((wanted.named(change.table), change) for change in _changes(words, schema, wanted))
    return tuple(change.of(table) for table, change in changes if table is not None)


def _changes(words: list[Word], schema: str, wanted: Wanted) -> Iterator[Redefined]:
    at = Words(words)
    at.skip_any(";", "(")
    if at.skip("SET", "STATEMENT"):
        while not at.is_over and not at.skip("FOR"):
            at.take()
    verb = at.take().key
    if verb in _NO_ROWS:
        return
    if verb == "RENAME" and at.key in ("TABLE", "TABLES"):
        at.take()
        yield from _renamed(at, schema)
    elif verb in ("CREATE", "ALTER", "DROP"):
        yield from _of_objects(verb, at, schema, wanted)
    elif verb != "RENAME" or at.key != "USER":
        yield from _named(words, schema)


def _of_objects(verb: str, at: Words, schema: str, wanted: Wanted) -> Iterator[Redefined]:
    replaces = at.key == "OR"
    at.skip_any(*_BEFORE_OBJECT)
    if at.skip("TEMPORARY"):
        return
    what = at.take().key
    if what in ("TABLE", "TABLES"):
        yield from _of_tables(verb, at, schema, replaces)
    elif what == "INDEX" and verb == "DROP":
        at.skip("IF", "EXISTS")
        index = at.take().text
        at.skip("ON")
        yield Redefined(at.name(schema), unindexed=(index,))
    elif what in ("DATABASE", "SCHEMA") and (verb == "DROP" or replaces):
        at.skip("IF", "EXISTS")
        for table in wanted.in_schema(at.take().text):
            yield Redefined(table, reason="its database was dropped")
    elif what not in ("INDEX", "DATABASE", "SCHEMA", "DEFINER", "SQL", "ALGORITHM") and what not in _OTHER_OBJECTS:
        yield from _named([at.take() for _ in iter(lambda: at.is_over, True)], schema)


def _of_tables(verb: str, at: Words, schema: str, replaces: bool) -> Iterator[Redefined]:
    if verb == "ALTER":
        at.skip("IF", "EXISTS")
        yield from Alters(at.name(schema), schema).changes(at)
    elif verb == "DROP":
        at.skip("IF", "EXISTS")
        for part in at.parts():
            yield Redefined(part.name(schema), reason="it was dropped")
    elif not at.skip("IF", "NOT", "EXISTS") or replaces:
        yield Redefined(at.name(schema), reason="it was made anew")


def _renamed(at: Words, schema: str) -> Iterator[Redefined]:
    at.skip("IF", "EXISTS")
    for part in at.parts():
        old = part.name(schema)
        while not part.is_over and not part.skip("TO"):
            part.take()
        new = part.name(schema)
        yield Redefined(old, reason=f"it was renamed to {new}")
        yield Redefined(new, reason=f"another table, {old}, got its name")


def _named(words: list[Word], schema: str) -> Iterator[Redefined]:
    """Every table that a statement may be about which nobody here knows."""
    texts = [word.text for word in words]
    names = {TableName(schema, text) for text in texts}
    names |= {TableName(a, b) for a, dot, b in zip(texts, texts[1:], texts[2:], strict=False) if dot == "."}
    for name in names:
        yield Redefined(name, reason="it was changed by a statement that is not known")
