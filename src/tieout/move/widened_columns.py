"""Columns whose type changes while a mover follows them, and holds every value that it held before.

Such a change alters no row. The target's column gets room for the new values, and its table goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tieout.connectors.protocols.change_log import Retyped
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Source, Target
from tieout.failpoints import reach
from tieout.model.moves import Fence, Shape, Transfer
from tieout.model.row_changes import Redefined
from tieout.model.tables import Column, Table
from tieout.model.types import TypeName
from tieout.model.widening import is_same, narrower, takes
from tieout.tasks.transforms import origins

_TEXTS = {TypeName.TEXT, TypeName.CHAR, TypeName.ENUM, TypeName.SET}
_CLOCKED = {TypeName.TIME, TypeName.TIMETZ, TypeName.TIMESTAMP, TypeName.INSTANT}
_ROUNDED = {TypeName.DECIMAL, TypeName.TIME, TypeName.TIMESTAMP, TypeName.INSTANT}
"""Types of which a transform's result may lose digits without an error."""


class Incompatible(Exception):
    """A change that a mover can't follow; the message says why."""


def judged(change: Redefined, name: str, transfer: Transfer) -> str | None:
    """Why a column that a statement changed may have other values now; None if it has the values that it had.

    `name` is the column's; `change` has its definition if that is understood.
    """
    stated = next((column for column in change.stated if column.name.lower() == name.lower()), None)
    if stated is None:
        return "its new definition is not one that a mover understands"
    if name not in transfer.typed:
        return "its earlier type is unknown"
    before = transfer.source.column(name)
    return narrower(before, _with_key(stated, transfer.source))


def _with_key(stated: Column, table: Table) -> Column:
    """A column of a key is NOT NULL without saying so."""
    is_key = any(index.primary and stated.name in index.columns for index in table.indexes) or stated.name in table.key
    return replace(stated, nullable=stated.nullable and not is_key)


@dataclass(frozen=True)
class Widener:
    """Makes room in the target. `same_engine`: both sides have the same engine."""

    source: Source
    target: Target
    fence: Fence
    endpoints: tuple[Endpoint, Endpoint]
    same_engine: bool

    def stated(self, transfer: Transfer, table: Table, stated: Sequence[Column]) -> list[Column]:
        """The source's columns as a statement has made them. `table` is the source's as it is now.

        Incompatible if a later statement has changed them again, so that nobody knows what this one did.
        """
        found = []
        for column in (_with_key(each, table) for each in stated):
            name = next(each for each in transfer.source.column_names if each.lower() == column.name.lower())
            before = transfer.source.column(name)
            if name not in table.column_names:
                raise Incompatible(f"its column {name} was changed, and dropped or renamed later")
            now = table.column(name)
            later = narrower(replace(column, nullable=before.nullable), now)
            if later is not None:
                raise Incompatible(f"its column {name} was changed again later: {later}")
            self._require_same_letters(table, before, column, now)
            # Servers may make a TIMESTAMP NOT NULL that does not say so.
            nullable = now.nullable if column.type.name is TypeName.INSTANT else column.nullable
            found.append(replace(before, type=column.type, nullable=nullable, default=now.default))
        return found

    def by_catalog(self, transfer: Transfer, table: Table, retyped: Retyped | None) -> list[Column]:
        """The source's columns that can hold more now, by its catalog. Incompatible if others have changed."""
        found = []
        changed = set(retyped.columns) if retyped is not None else set()
        read = {column.name for column in transfer.reads.source_columns}
        for name in retyped.replaced if retyped is not None else ():
            # Of a column that was added since, the log may have either.
            if name in read or name not in transfer.source.column_names:
                raise Incompatible(f"rows may have other values in {name}")
        for name in dict.fromkeys(column.name for column in transfer.reads.source_columns):
            before, now = transfer.source.column(name), _now(table, name)
            if now is None or name not in transfer.typed:
                if name in changed:
                    raise Incompatible(f"its column {name} has another type, and its earlier one is unknown")
                continue
            nullable = before.nullable or now.nullable
            if (why := narrower(before, replace(now, nullable=nullable))) is not None:
                raise Incompatible(why)
            is_wider = not is_same(before.type, now.type)
            if is_wider != (name in changed) and not (is_wider and now.type.name is TypeName.ENUM):
                raise Incompatible(f"its column {name} has another type")
            if is_wider and now.type.name in _CLOCKED:
                raise Incompatible(f"values of {name} may have arrived already, and were rounded")
            if is_wider and before.collation != now.collation:
                raise Incompatible(f"its column {name} got another collation")
            if is_wider and retyped is not None and retyped.rewritten:
                self._require_comparable(transfer, now)
            if is_wider or nullable != before.nullable:
                found.append(replace(before, type=now.type, nullable=nullable, default=now.default))
        return found

    def _require_comparable(self, transfer: Transfer, column: Column) -> None:
        # The log may leave out a long text that did not change: it would keep the value from before.
        if column.type.name is not TypeName.INTEGER:
            raise Incompatible("its rows were written again, perhaps with other values")
        if not transfer.key or transfer.shape is not None:
            raise Incompatible("its rows were written again, and can't be compared: it has no key, or a transform")

    def _require_same_letters(self, table: Table, before: Column, stated: Column, now: Column) -> None:
        if before.type.name not in _TEXTS:
            return
        collation = stated.collation
        if collation is None and stated.charset is None:
            collation = self.source.collation_of(table)
        same = (stated.charset or before.charset) == before.charset and (collation or before.collation) == (
            before.collation
        )
        if not same or (now.charset, now.collation) != (before.charset, before.collation):
            raise Incompatible(f"its column {before.name} got another character set or collation")

    def widened(self, transfer: Transfer, table: Table, columns: Sequence[Column]) -> Transfer:
        """The transfer with these columns of the source, once the target has room for them.

        `table` is the source's as it is now: its columns hold at least as much.
        """
        changed = {column.name: column for column in columns}
        _refuse_rounding(transfer, changed)
        wanted = {name: origin for name, origin in origins(transfer).items() if origin in changed}
        (there,) = self.endpoints[1].describe([transfer.target.name])
        lacking = {name: origin for name, origin in wanted.items() if _lacks_room(there, name, changed[origin])}
        if lacking:
            self._make_room(transfer, table, there, changed, lacking)
            (there,) = self.endpoints[1].describe([transfer.target.name])
        return with_columns(transfer, changed, there)

    def _make_room(
        self, transfer: Transfer, table: Table, there: Table, changed: Mapping[str, Column], lacking: Mapping[str, str]
    ) -> None:
        for name, origin in lacking.items():
            own, before = there.column(name), transfer.source.column(origin)
            # Not to a type that lacks something that the user's own has.
            if not _is_alike(own, before, changed[origin]):
                raise Incompatible(
                    f"the column {name} of {transfer.target.name} is {own.type}, and has no room for "
                    f"{changed[origin].type}: change its type, and copy the table again"
                )
        statements = self.target.widening(there, table, lacking, same_engine=self.same_engine)
        self.target.mark_altering(self.fence, transfer.target.name)
        self.target.run(self.fence, transfer.target.name, statements)
        reach("target-widened")


def _now(table: Table, name: str) -> Column | None:
    return next((column for column in table.columns if column.name == name), None)


def _refuse_rounding(transfer: Transfer, changed: Mapping[str, Column]) -> None:
    shape = transfer.shape
    for name, _ in shape.uses if shape is not None else ():
        column, before = changed.get(name), transfer.source.column(name)
        if column is not None and column.type.name in _ROUNDED and not is_same(column.type, before.type):
            raise Incompatible(f"a transform computes with its column {name}, and might round the result")


def _lacks_room(there: Table, name: str, column: Column) -> bool:
    own = there.column(name)
    if own.generated:
        return False  # the target computes it
    return not takes(own.type, column.type) or (column.nullable and not own.nullable and name not in there.key)


def _is_alike(own: Column, before: Column, after: Column) -> bool:
    """Whether the target's column is one that the new type can replace."""
    kind = own.type
    if before.type.name is TypeName.INTEGER:
        return kind.name is TypeName.INTEGER or takes(kind, after.type)
    if {kind.name, before.type.name} == {TypeName.TIMESTAMP, TypeName.INSTANT}:
        kind = replace(kind, name=before.type.name)
    return takes(kind, after.type) or takes(after.type, kind)


def with_columns(transfer: Transfer, changed: Mapping[str, Column], target: Table) -> Transfer:
    """The transfer with these columns of the source and with this table of the target, each in its place."""

    def new(column: Column) -> Column:
        return changed.get(column.name, column)

    kept = {column.name: column for column in target.columns}

    def pair(source: Column, form: Column) -> tuple[Column, Column]:
        # What expressions read, they read in the source's form.
        return new(source), (new(source) if form == source else kept.get(form.name, form))

    source = replace(transfer.source, columns=tuple(map(new, transfer.source.columns)))
    columns = tuple((new(column), kept.get(there.name, there)) for column, there in transfer.columns)
    shape: Shape | None = transfer.shape
    if shape is not None:
        columns = tuple(
            (column if isinstance(cell, str) else new(column), kept.get(there.name, there))
            for (column, there), cell in zip(transfer.columns, shape.cells, strict=True)
        )
        shape = replace(shape, reads=tuple(pair(*each) for each in shape.reads))
    return replace(transfer, source=source, target=target, columns=columns, shape=shape)
