"""The tables and views of a file, with the statements that made them and all that is theirs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tieout.connectors.protocols.check import Inspection
from tieout.connectors.sqlite.quoting import name as quote
from tieout.connectors.sqlite.session import SQLiteSession
from tieout.connectors.sqlite.tokens import Token, name_of, tokens
from tieout.model.tables import TableName

_OBJECTS = """
SELECT type, name, tbl_name, sql FROM main.sqlite_master
WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql IS NOT NULL ORDER BY name"""

SCHEMA = "main"


@dataclass
class Relation:
    """A table or a view. `indexes` and `triggers`: the statements that made them, by their names.

    `known`: SQLite understands its definition.
    """

    name: str
    statement: str
    is_view: bool
    known: bool
    inspection: Inspection
    indexes: dict[str, str] = field(default_factory=dict)
    triggers: dict[str, str] = field(default_factory=dict)

    @property
    def quoted(self) -> str:
        return f"main.{quote(self.name)}"

    @property
    def words(self) -> list[Token]:
        return tokens(self.statement)

    @property
    def is_virtual(self) -> bool:
        words = [token for token in self.words if token.text != " "]
        return len(words) > 1 and words[1].says("VIRTUAL")


def relations(session: SQLiteSession) -> dict[str, Relation]:
    """By their names in lower case, as SQLite finds them."""
    rows = session.rows(_OBJECTS)
    known = {str(row[0]).casefold() for row in session.rows("SELECT name FROM pragma_table_list WHERE schema = 'main'")}
    found = {
        name.casefold(): Relation(
            name,
            statement,
            kind == "view",
            name.casefold() in known,
            Inspection(TableName(SCHEMA, name), "view" if kind == "view" else None),
        )
        for kind, name, _, statement in rows
        if kind in ("table", "view")
    }
    for kind, name, owner, statement in rows:
        relation = found.get(owner.casefold())
        if relation is not None and kind == "index":
            relation.indexes[name] = statement
        elif relation is not None and kind == "trigger":
            relation.triggers[name] = statement
    return found


def wanted(found: dict[str, Relation], names: Collection[TableName] | None) -> list[Relation]:
    """Those of these names and the views that speak of them, or of such a view; all, if there are no names."""
    if names is None:
        return list(found.values())
    chosen = {name.name.casefold() for name in names} & found.keys()
    spoken = {
        key: {name_of(token).casefold() for token in view.words if token.text.strip()}
        for key, view in found.items()
        if view.is_view
    }
    while True:
        more = {key for key, words in spoken.items() if words & chosen} - chosen
        if not more:
            return [relation for key, relation in found.items() if key in chosen]
        chosen |= more
