"""What the checkers of SQL engines share: all that endpoint, dialect and catalog know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tieout.connectors.protocols.check import IndexInfo
from tieout.connectors.protocols.endpoint import Endpoint, ScanColumn
from tieout.connectors.protocols.paths import NotCheckable, OnlyRows, Violations
from tieout.connectors.sql.dialect import Dialect
from tieout.model.constraints import ConstraintInfo
from tieout.model.tables import Table, TableName

E = TypeVar("E", bound=Endpoint)
D = TypeVar("D", bound=Dialect)


@dataclass(frozen=True)
class CatalogQueries(Generic[E]):
    """How to read indexes and constraints from an engine's catalog, and how to find rows that break constraints."""

    indexes: Callable[[E, Table], list[IndexInfo]]
    constraints: Callable[[E, Table], list[ConstraintInfo]]
    violations: Callable[[E, Sequence[ConstraintInfo], OnlyRows | None], Violations | NotCheckable]


class SqlChecker(Generic[E, D]):
    """A Checker, except for how it reads tables, indexes and values, which is the engine's own."""

    other_names: tuple[str, ...] = ()
    engine_check_writes: str | None = None

    def __init__(self, database: str, endpoint: E, dialect: D, catalog: CatalogQueries[E]) -> None:
        self.database = database
        self._endpoint = endpoint
        self._dialect = dialect
        self._catalog = catalog

    def leaves(self, names: Sequence[TableName]) -> list[TableName]:
        return list(names)

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        return self._endpoint.describe(names)

    def default_schema(self) -> str:
        return self._endpoint.default_schema()

    def indexes(self, table: Table) -> list[IndexInfo]:
        return self._catalog.indexes(self._endpoint, table)

    def constraints(self, table: Table) -> list[ConstraintInfo]:
        return self._catalog.constraints(self._endpoint, table)

    def violations(
        self, constraints: Sequence[ConstraintInfo], only: OnlyRows | None = None
    ) -> Violations | NotCheckable:
        return self._catalog.violations(self._endpoint, constraints, only)

    def literal_of(self, column: ScanColumn, text: str | None) -> str | None:
        found = column.expression is None and self._finds(column, text)
        return "NULL" if text is None else self._dialect.literal(column.column, text) if found else None

    def _finds(self, column: ScanColumn, text: str | None) -> bool:
        return self._dialect.finds(column)

    def address_text(self, address: Sequence[str | None]) -> str:
        return ", ".join("NULL" if part is None else part for part in address)

    def release_snapshot(self) -> None:
        """Does nothing: each path reads its own snapshot."""

    def close(self) -> None:
        self._endpoint.close()
