"""What a statement does to the definitions of tables that are followed."""

from __future__ import annotations

from collections.abc import Iterator

from tieout.connectors.mysql.binlog.alters import Alters
from tieout.connectors.mysql.binlog.ddl_tokens import USUAL, NotUnderstood, Rules, Unreadable, Word, Words
from tieout.connectors.mysql.binlog.statements import whole_statement
from tieout.connectors.mysql.binlog.wanted import Wanted
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
_HAVE_BODIES = frozenset(["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PACKAGE", "AGGREGATE", "DEFINER"])
_OTHER_OBJECTS = frozenset(
    ["VIEW", "USER", "ROLE", "SEQUENCE", "SERVER", "LOGFILE", "TABLESPACE", "UNDO", "SQL", "ALGORITHM"]
)
_BEFORE_OBJECT = ("OR", "REPLACE", "ONLINE", "OFFLINE", "IGNORE", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR")


def redefined(text: str, schema: str, wanted: Wanted, rules: Rules = USUAL) -> tuple[Redefined, ...]:
    """What becomes of wanted tables; `schema` is the one that the statement was run in.

    Only what is known to leave rows as they are, or to be told with rows, is left out: of a statement that is not
    understood each table is taken to be changed whose name is in it.
    """
    try:
        words = whole_statement(text, rules)
    except Unreadable:
        return unread(text, wanted)
    try:
        found = list(_changes(words, schema, wanted))
    except NotUnderstood:
        found = list(_named(words, schema, wanted))
    changes = ((wanted.named(change.table), change) for change in found)
    return tuple(change.of(table) for table, change in changes if table is not None)


def unread(text: str, wanted: Wanted) -> tuple[Redefined, ...]:
    """Of a text that can't be cut into words."""
    reason = "a statement that can't be read names it"
    return tuple(Redefined(table, reason=reason) for table in wanted.perhaps_in(text))


def _changes(words: list[Word], schema: str, wanted: Wanted) -> Iterator[Redefined]:
    at = Words(words)
    verb = at.take().key
    if verb in ("CREATE", "ALTER", "DROP"):
        yield from _of_objects(verb, at, schema, wanted)
    else:
        at.refuse_several()
        if verb == "RENAME" and at.key in ("TABLE", "TABLES"):
            at.take()
            yield from _renamed(at, schema)
        elif verb not in _NO_ROWS and not (verb == "RENAME" and at.key == "USER"):
            yield from _named(words, schema, wanted)


def _of_objects(verb: str, at: Words, schema: str, wanted: Wanted) -> Iterator[Redefined]:
    replaces, ignores = at.key == "OR", False
    while at.key in _BEFORE_OBJECT:
        ignores = at.take().key == "IGNORE" or ignores
    temporary = at.skip("TEMPORARY")
    what = at.take().key
    if what in _HAVE_BODIES:
        return  # its statements are run later, if at all
    at.refuse_several()
    if what in ("TABLE", "TABLES") or (what == "SEQUENCE" and verb == "CREATE"):  # a sequence may replace a table
        if temporary:
            yield from _temporary(verb, at, schema)
        else:
            yield from _of_tables(verb, at, schema, replaces=replaces, ignores=ignores)
    elif what == "INDEX":
        yield from _of_index(verb, at, schema, replaces=replaces)
    elif what in ("DATABASE", "SCHEMA"):
        if verb == "DROP" or replaces:
            at.skip("IF", "EXISTS")
            for table in wanted.in_schema(at.part()):
                yield Redefined(table, reason="its database was dropped")
            if verb == "DROP":
                at.end()
    elif what not in _OTHER_OBJECTS:
        raise NotUnderstood(f"{verb} {what}")


def _of_tables(verb: str, at: Words, schema: str, *, replaces: bool, ignores: bool) -> Iterator[Redefined]:
    if verb == "ALTER":
        at.skip("IF", "EXISTS")
        yield from Alters(at.name(schema), schema, ignores).changes(at)
    elif verb == "DROP":
        at.skip("IF", "EXISTS")
        for part in at.parts():
            yield Redefined(part.name(schema), reason="it was dropped")
            part.skip_any("RESTRICT", "CASCADE")
            part.skip_waiting()
            part.end()
        at.end()
    elif not at.skip("IF", "NOT", "EXISTS") or replaces:
        yield Redefined(at.name(schema), reason="it was made anew")


def _temporary(verb: str, at: Words, schema: str) -> Iterator[Redefined]:
    """Only sessions that log statements log these, too, and then what they do to the temporary table by its name."""
    if verb == "CREATE":
        at.skip("IF", "NOT", "EXISTS")
        yield Redefined(at.name(schema), reason="the log does not tell it from a temporary table that got its name")


def _of_index(verb: str, at: Words, schema: str, *, replaces: bool) -> Iterator[Redefined]:
    if verb == "CREATE" and not replaces:
        return
    at.skip("IF", "EXISTS")
    index = at.part()
    while not at.skip("ON"):
        if at.is_over:
            raise NotUnderstood("an index of no table")
        at.take()
    yield Redefined(at.name(schema), unindexed=(index,))


def _renamed(at: Words, schema: str) -> Iterator[Redefined]:
    at.skip("IF", "EXISTS")
    for part in at.parts():
        old = part.name(schema)
        part.skip_waiting()
        if not part.skip("TO"):
            raise NotUnderstood("a table that gets no name")
        new = part.name(schema)
        part.end()
        yield Redefined(old, reason=f"it was renamed to {new}")
        yield Redefined(new, reason=f"another table, {old}, got its name")
    at.end()


def _named(words: list[Word], schema: str, wanted: Wanted) -> Iterator[Redefined]:
    """Every table that a statement may be about which nobody here knows: all of a schema that it names alone."""
    texts = [word.text for word in words]
    names = {TableName(schema, text) for text in texts}
    names |= {TableName(a, b) for a, dot, b in zip(texts, texts[1:], texts[2:], strict=False) if dot == "."}
    alone = (text for text, behind in zip(texts, [*texts[1:], ""], strict=True) if behind != ".")
    names |= {table for text in alone for table in wanted.in_schema(text)}
    for name in sorted(names, key=str):
        yield Redefined(name, reason="it was changed by a statement that is not known")
