"""Which tables a task is about, and what to do with their rows and columns."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from tieout.config.fields import MayBeEmpty, Names, Section, Text, Tolerance
from tieout.model.requests import TableRequest


class ColumnExpression(Section):
    """SQL that a column is compared by. A text in its place is the source's."""

    source: Text
    """SQL on the source."""
    target: Text | None = None
    """SQL on the target; the column itself unless given."""

    @model_validator(mode="before")
    @classmethod
    def _text_is_the_source(cls, value: Any) -> Any:
        return {"source": value} if isinstance(value, str) else value


def _columns_kind(value: Any) -> str:
    return "mapping" if isinstance(value, dict) else "list"


Columns = Annotated[
    Annotated[Names, Tag("list")] | Annotated[dict[Text, ColumnExpression], Tag("mapping")],
    Discriminator(_columns_kind),
]


class TableSettings(Section):
    """One entry of `tables`. A text in its place is its `from`."""

    source: Text = Field(alias="from")
    """A table of the source, or a pattern with * and ?."""
    target: Text | None = Field(default=None, alias="to")
    """The table of the target; the same name unless given."""
    where: Text | None = None
    """SQL that chooses rows, on both sides."""
    source_where: Text | None = None
    """SQL that chooses rows on the source, instead of `where`."""
    target_where: Text | None = None
    """SQL that chooses rows on the target, instead of `where`."""
    columns: Columns | None = None
    """A list: only these columns. A mapping: SQL that computes a column, for the source or for each side."""
    exclude_columns: Names = ()
    """Columns to leave out."""
    exclude: Names = ()
    """Tables that the pattern should not match."""
    key: Names | None = None
    """The columns that tell rows apart; the primary key unless given."""
    tolerance: Annotated[dict[Text, Tolerance], MayBeEmpty] = Field(default={})
    """How far apart values may be, by column: 0.001, or "1e-9 relative"."""

    @model_validator(mode="before")
    @classmethod
    def _text_is_the_name(cls, value: Any) -> Any:
        return {"from": value} if isinstance(value, str) else value

    def request(self) -> TableRequest:
        """What this asks of a verification. No SQL for the target ("") compares with its column of that name."""
        listed = self.columns if isinstance(self.columns, tuple) else None
        computed = self.columns if isinstance(self.columns, dict) else {}
        return TableRequest(
            source=self.source,
            target=self.target,
            where=self.where,
            source_where=self.source_where,
            target_where=self.target_where,
            key=self.key,
            columns=listed,
            exclude_columns=self.exclude_columns,
            exclude=self.exclude,
            tolerance=self.tolerance,
            expressions={name: (sql.source, sql.target or "") for name, sql in computed.items()},
        )
