"""What ALTER TABLE does, action by action."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tieout.connectors.mysql.binlog.ddl_tokens import Words
from tieout.model.changes import Redefined
from tieout.model.tables import TableName

_CONSTRAINTS = frozenset(
    ["INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "CONSTRAINT", "FOREIGN", "CHECK", "PRIMARY"]
)
_SAME_ROWS = frozenset(
    [
        *("ALGORITHM", "LOCK", "FORCE", "ORDER", "ENABLE", "DISABLE", "WITHOUT", "WAIT", "NOWAIT"),
        *("ANALYZE", "CHECK", "OPTIMIZE", "REBUILD", "REPAIR", "REORGANIZE", "COALESCE", "REMOVE", "PARTITION"),
    ]
)
"""Partitions that are cut in another way hold the rows that they held before."""
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
    """Collects what the actions of one ALTER TABLE do; `schema` is that of names without one.

    `ignores`: rows that would be duplicates were deleted on the way, which the log does not tell.
    """

    table: TableName
    schema: str
    ignores: bool = False
    _added: list[tuple[str, str | None]] = field(default_factory=list)
    _dropped: list[str] = field(default_factory=list)
    _changed: list[str] = field(default_factory=list)
    _unindexed: list[str] = field(default_factory=list)
    _reason: str | None = None
    _others: list[Redefined] = field(default_factory=list)

    def changes(self, at: Words) -> Iterator[Redefined]:
        """Of the table itself, and of others that got its rows or its name."""
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
            self._changed.append(at.part())
        elif verb in _OPTIONS:
            self._options(verb, at)
        elif verb == "WITH" and at.key == "VALIDATION":
            pass
        elif verb != "ALTER" and verb not in _SAME_ROWS:
            self._refuse(verb, at)

    def _add(self, at: Words) -> None:
        if at.key in _CONSTRAINTS or at.key == "PARTITION":
            return
        if at.skip("SYSTEM", "VERSIONING") or at.skip("PERIOD", "FOR"):
            self._reason = "it keeps earlier rows by itself now"
            return
        at.skip("COLUMN")
        at.skip("IF", "NOT", "EXISTS")
        columns = at.parts() if at.skip("(") else iter([at])
        for column in columns:
            if column.key not in _CONSTRAINTS:
                self._added.append((column.part(), _default(column)))

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
            self._reason = "the rows that it kept by itself are gone"
        elif at.key not in ("FOREIGN", "CHECK"):
            at.skip("COLUMN")
            at.skip("IF", "EXISTS")
            self._dropped.append(at.part())

    def _rename(self, at: Words) -> None:
        if at.key in ("INDEX", "KEY"):
            at.take()
            self._unindexed.append(at.part())  # under this name nobody will find it again
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
                    self._reason = f"it is kept by {engine.text} now"
            elif verb == "WITH" and at.key == "SYSTEM":
                self._refuse(verb, at)
            if at.is_over:
                return
            verb = at.take().key

    def _refuse(self, verb: str, at: Words) -> None:
        """EXCHANGE PARTITION … WITH TABLE t, CONVERT TABLE t TO …, CONVERT PARTITION … TO TABLE t; what is new here."""
        self._reason = f"ALTER TABLE … {verb} {at.key} changed it".replace("  ", " ")
        while not at.is_over:
            if at.take().key == "TABLE":
                other = at.name(self.schema)
                self._others.append(Redefined(other, reason=f"its rows were exchanged with those of {self.table}"))


def _default(at: Words) -> str | None:
    """What a column's definition gives to rows that are there: a literal without quotes, or what is none."""
    given: str | None = None
    depth = 0
    while not at.is_over:
        word = at.take()
        if word.key in ("(", ")"):
            depth += 1 if word.key == "(" else -1
        elif depth == 0 and word.key in ("AUTO_INCREMENT", "SERIAL"):
            return _NUMBERED
        elif depth == 0 and word.key == "DEFAULT":
            given = _literal(at)
    return given


def _literal(at: Words) -> str | None:
    sign = "-" if at.skip("-") else ""
    at.skip("+")
    word = at.take()
    if word.key in ("NULL", "TRUE", "FALSE"):
        return {"NULL": None, "TRUE": "1", "FALSE": "0"}[word.key]
    return sign + word.text if word.literal else _COMPUTED
