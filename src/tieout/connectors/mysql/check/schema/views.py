"""Views that can't be read any more."""

from __future__ import annotations

from collections.abc import Iterable

from tieout.connectors.mysql.check.schema.objects import Relation
from tieout.connectors.mysql.check.schema.session import SchemaSession
from tieout.connectors.protocols.check import Defect, Trouble
from tieout.model.failures import FailureKind

_SAYS = 3
_DENIED = "denied"


def look_at_views(session: SchemaSession, relations: Iterable[Relation]) -> None:
    for view in relations:
        if view.is_view:
            name = session.dialect.table(view.name)
            trouble = session.fails_to_compile(f"SELECT * FROM {name}")
            if trouble is not None:
                told = _in_other_words(session, view, name, trouble)
                view.inspection.met(told, Defect(FailureKind.INVALID_VIEW, {"reason": told.message}))


def _in_other_words(session: SchemaSession, view: Relation, name: str, trouble: Trouble) -> Trouble:
    """Who reads a view is told no more than that something is wrong; who has it checked is told what.

    One that reads with the rights of whoever asks may only lack ours.
    """
    rows = session.tried(f"CHECK TABLE {name}")
    said = [] if isinstance(rows, Trouble) else [str(row[_SAYS]) for row in rows if row[2] == "Error"]
    ours = view.invoker and any(_DENIED in words for words in said)
    return Trouble(said[0] if said else trouble.message, trouble.telling and not ours)
