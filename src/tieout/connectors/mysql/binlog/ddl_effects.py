"""What a statement does to the definitions of wanted tables: ALTER TABLE action by action, DROP, RENAME and others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tieout.connectors.mysql.binlog.column_definitions import stated
from tieout.connectors.mysql.binlog.ddl_tokens import USUAL, NotCheckable, NotUnderstood, Rules, Word, Words
from tieout.connectors.mysql.binlog.statements import whole_statement
from tieout.connectors.mysql.binlog.tables import Wanted
from tieout.model.row_changes import Redefined
from tieout.model.tables import Column, TableName

_CONSTRAINTS = frozenset(
    ["INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "CONSTRAINT", "FOREIGN", "CHECK", "PRIMARY"]
)
_SAME_ROWS = frozenset(
    [
        *("ALGORITHM", "LOCK", "FORCE", "ORDER", "ENABLE", "DISABLE", "WITHOUT", "WAIT", "NOWAIT"),
        *("ANALYZE", "CHECK", "OPTIMIZE", "REBUILD", "REPAIR", "REORGANIZE", "COALESCE", "REMOVE", "PARTITION"),
    ]
)
"""Actions that change no row. Reorganized partitions hold the same rows."""
_OPTIONS = frozenset(
    [
        *("AUTO_INCREMENT", "AUTOEXTEND_SIZE", "AVG_ROW_LENGTH", "CHECKSUM", "COMMENT", "COMPRESSION", "CONNECTION"),
        *("DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "DELAY_KEY_WRITE", "ENCRYPTED", "ENCRYPTION"),
        *("ENCRYPTION_KEY_ID", "ENGINE", "ENGINE_ATTRIBUTE", "IETF_QUOTES", "INSERT_METHOD", "ITEMS", "KEY_BLOCK_SIZE"),
        *("MAX_ROWS", "MIN_ROWS", "PACK_KEYS", "PAGE_CHECKSUM", "PAGE_COMPRESSED", "PAGE_COMPRESSION_LEVEL"),
        *("ROW_FORMAT", "SECONDARY_ENGINE_ATTRIBUTE", "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES"),
        *("TRANSACTIONAL",),
    ]
)
_ENGINES = ("INNODB", "ROCKSDB")
_COMPUTED = "(computed)"
_NUMBERED = "(numbered)"


@dataclass
class Alters:
    """Collects what the actions of one ALTER TABLE do; names without a schema belong to `schema`.

    `ignores`: ALTER IGNORE deleted rows that would have been duplicates, and the log does not have them.
    """

    table: TableName
    schema: str
    ignores: bool = False
    _added: list[tuple[str, str | None]] = field(default_factory=list)
    _dropped: list[str] = field(default_factory=list)
    _changed: list[str] = field(default_factory=list)
    _stated: list[Column] = field(default_factory=list)
    _unindexed: list[str] = field(default_factory=list)
    _reason: str | None = None
    _others: list[Redefined] = field(default_factory=list)

    def changes(self, at: Words) -> Iterator[Redefined]:
        """Changes of the table itself, and of others that got its rows or its name."""
        at.skip_waiting()
        if self.ignores:
            self._reason = "ALTER IGNORE TABLE may have deleted rows of it"
        for action in at.parts():
            self._act(action)
        at.end()
        yield Redefined(
            self.table,
            tuple(self._added),
            tuple(self._dropped),
            tuple(self._changed),
            tuple(self._unindexed),
            self._reason,
            tuple(self._stated),
        )
        yield from self._others

    def _act(self, at: Words) -> None:
        verb = at.take().key
        if verb == "ADD":
            self._add(at)
        elif verb == "DROP":
            self._drop(at)
        elif verb == "RENAME":
            self._rename(at)
        elif verb in ("MODIFY", "CHANGE"):
            at.skip("COLUMN")
            at.skip("IF", "EXISTS")
            self._change(verb, at)
        elif verb in _OPTIONS:
            self._options(verb, at)
        elif verb == "WITH" and at.key == "VALIDATION":
            pass
        elif verb != "ALTER" and verb not in _SAME_ROWS:
            self._refuse(verb, at)

    def _refer(self, at: Words) -> None:
        """A foreign key with an action: the server changes rows itself, below the log."""
        acts = (("ON", on, act) for on in ("DELETE", "UPDATE") for act in ("CASCADE", "SET"))
        if at.has("REFERENCES") and any(at.has(*words) for words in acts):
            self._reason = "the binary log does not have what its new foreign key changes in it"

    def _change(self, verb: str, at: Words) -> None:
        self._refer(at)
        name = at.part()
        self._changed.append(name)
        # A renamed column has no definition of its own name.
        if verb == "MODIFY" or at.part() == name:
            self._state(name, at)

    def _state(self, name: str, at: Words) -> None:
        if (column := stated(name, at)) is not None:
            self._stated.append(column)

    def _add(self, at: Words) -> None:
        self._refer(at)
        if at.key in _CONSTRAINTS or at.key == "PARTITION":
            return
        if at.skip("SYSTEM", "VERSIONING") or at.skip("PERIOD", "FOR"):
            self._reason = "it is system-versioned now"
            return
        at.skip("COLUMN")
        at.skip("IF", "NOT", "EXISTS")
        columns = at.parts() if at.skip("(") else iter([at])
        for column in columns:
            if column.key not in _CONSTRAINTS:
                name = column.part()
                self._state(name, column.rest())
                self._added.append((name, _default(column)))

    def _drop(self, at: Words) -> None:
        if at.skip("PRIMARY"):
            self._unindexed.append("PRIMARY")
        elif at.key in ("INDEX", "KEY", "CONSTRAINT"):
            at.take()
            at.skip("IF", "EXISTS")
            self._unindexed.append(at.part())
        elif at.skip("PARTITION"):
            self._reason = "a partition was dropped"
        elif at.skip("SYSTEM", "VERSIONING") or at.skip("PERIOD", "FOR"):
            self._reason = "it is no longer system-versioned, and its history is gone"
        elif at.key not in ("FOREIGN", "CHECK"):
            at.skip("COLUMN")
            at.skip("IF", "EXISTS")
            self._dropped.append(at.part())

    def _rename(self, at: Words) -> None:
        if at.key in ("INDEX", "KEY"):
            at.take()
            self._unindexed.append(at.part())  # nothing will find it under this name again
        elif at.skip("COLUMN"):
            at.skip("IF", "EXISTS")
            self._dropped.append(at.part())
            at.skip("TO")
            self._added.append((at.part(), _COMPUTED))
        else:
            at.skip_any("TO", "AS", "=")
            new = at.name(self.schema)
            self._reason = f"it was renamed to {new}"
            self._others.append(Redefined(new, reason=f"another table, {self.table}, got its name"))

    def _options(self, verb: str, at: Words) -> None:
        while True:
            if verb == "ENGINE":
                at.skip("=")
                engine = at.take()
                if engine.text.upper() not in _ENGINES:
                    self._reason = f"its storage engine is {engine.text} now"
            elif verb == "WITH" and at.key == "SYSTEM":
                self._refuse(verb, at)
            if at.is_over:
                return
            verb = at.take().key

    def _refuse(self, verb: str, at: Words) -> None:
        """EXCHANGE PARTITION … WITH TABLE t, CONVERT TABLE t TO …, CONVERT PARTITION … TO TABLE t; unknown actions."""
        self._reason = f"ALTER TABLE … {verb} {at.key} changed it".replace("  ", " ")
        while not at.is_over:
            if at.take().key == "TABLE":
                other = at.name(self.schema)
                self._others.append(Redefined(other, reason=f"its rows were exchanged with those of {self.table}"))


def _default(at: Words) -> str | None:
    """What existing rows get in a new column: a literal without quotes, or a mark for a computed value."""
    default: str | None = None
    depth = 0
    while not at.is_over:
        word = at.take()
        if word.key in ("(", ")"):
            depth += 1 if word.key == "(" else -1
        elif depth == 0 and word.key in ("AUTO_INCREMENT", "SERIAL"):
            return _NUMBERED
        elif depth == 0 and word.key == "DEFAULT":
            default = _literal(at)
    return default


def _literal(at: Words) -> str | None:
    sign = "-" if at.skip("-") else ""
    at.skip("+")
    word = at.take()
    if word.key in ("NULL", "TRUE", "FALSE"):
        return {"NULL": None, "TRUE": "1", "FALSE": "0"}[word.key]
    return sign + word.text if word.literal else _COMPUTED


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
    """What becomes of wanted tables; `schema` is the one that the statement ran in.

    Omits only what is known to leave rows as they are, or to be in the log as rows: a statement that is not understood
    counts as a change of every table that it names.
    """
    try:
        words = whole_statement(text, rules)
    except NotCheckable:
        return unread(text, wanted)
    try:
        found = list(_changes(words, schema, wanted))
    except NotUnderstood:
        found = list(_named(words, schema, wanted))
    changes = ((wanted.named(change.table), change) for change in found)
    return tuple(change.of(table) for table, change in changes if table is not None)


def unread(text: str, wanted: Wanted) -> tuple[Redefined, ...]:
    """A text that cannot be split into words counts as a change of every table that it may name."""
    reason = "a statement that cannot be parsed names it"
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
        return  # its statements run later, if at all
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
        yield Redefined(at.name(schema), reason="it was created again")


def _temporary(verb: str, at: Words, schema: str) -> Iterator[Redefined]:
    """Only sessions that log statements log temporary tables, and then log changes of them under the same name."""
    if verb == "CREATE":
        at.skip("IF", "NOT", "EXISTS")
        yield Redefined(
            at.name(schema), reason="the log does not distinguish it from a temporary table of the same name"
        )


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
    """Every table that an unknown statement may be about: all tables of a schema that it names alone."""
    texts = [word.text for word in words]
    names = {TableName(schema, text) for text in texts}
    names |= {TableName(a, b) for a, dot, b in zip(texts, texts[1:], texts[2:], strict=False) if dot == "."}
    alone = (text for text, behind in zip(texts, [*texts[1:], ""], strict=True) if behind != ".")
    names |= {table for text in alone for table in wanted.in_schema(text)}
    for name in sorted(names, key=str):
        yield Redefined(name, reason="an unknown statement changed it")
