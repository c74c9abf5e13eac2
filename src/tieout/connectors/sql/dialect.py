"""How an engine writes names and values in SQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.model.tables import Column, TableName


class Dialect(ABC):
    """How an engine quotes, and how it renders a value in a form that its driver reads exactly.

    Values stand in statements as literals, not as parameters: the Arrow drivers bind none. `literal` and `value`
    therefore take canonical text of any content and return SQL that nothing in the text can break out of.
    """

    @abstractmethod
    def quote(self, name: str) -> str: ...

    @abstractmethod
    def table(self, name: TableName) -> str: ...

    @abstractmethod
    def wire(self, column: ScanColumn, reference: str) -> str:
        """The column's value in the form in which the driver reads it exactly."""

    @abstractmethod
    def literal(self, column: Column, text: str) -> str:
        """A literal to compare the column with. Never raises: NULL, which equals nothing, if the type can't hold it.

        For a column with an `order` it divides the column's values, or else range conditions would lose rows.
        """

    @abstractmethod
    def finds(self, column: ScanColumn) -> bool:
        """Whether a literal of a value's canonical text equals every spelling of that value in the column."""

    def value(self, column: Column, text: str) -> str:
        """SQL that is this value, whether a statement assigns it to the column or compares it with the column.

        Raises Refused if the engine has no such SQL.
        """
        return self.literal(column, text)

    def compared(self, column: Column, left: str, sign: str, right: str) -> str:
        """Compares two values that have the type of the column."""
        return f"{left} {sign} {right}"

    def among(self, scan: Scan, column: Column, values: Sequence[str]) -> str:
        """True if the column has one of these values, which are literals."""
        return f"{self.quote(column.name)} IN ({', '.join(values)})"
