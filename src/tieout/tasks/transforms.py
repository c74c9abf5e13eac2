"""Transforms of a task: which rows it selects, and which columns it computes on the way."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp

from tieout.errors import UsageError
from tieout.model.moves import SCHEMA_NAME, TABLE_NAME, Shape, Transfer
from tieout.model.requests import TableRequest
from tieout.model.tables import Column, Table

Pairs = Sequence[tuple[Column, Column]]
_CONSTANT = frozenset({SCHEMA_NAME, TABLE_NAME})


def condition_of(request: TableRequest) -> str | None:
    return request.source_where or request.where


def tells_tables_apart(request: TableRequest) -> bool:
    """Whether a computed column holds the name of the row's source table."""
    return any(names_in(expression) & _CONSTANT for expression, _ in request.expressions.values())


def names_in(expression: str) -> frozenset[str]:
    """The columns that a Spark SQL expression names, in lower case."""
    try:
        tree = sqlglot.parse_one(expression, dialect="spark")
    except sqlglot.errors.SqlglotError as error:
        line = str(error).splitlines()[0]
        raise UsageError(f"{expression!r} is not a Spark SQL expression: {line}") from None
    return frozenset(column.parts[0].name.casefold() for column in tree.find_all(exp.Column))


def computed_of_key(expression: str, source: Table) -> bool:
    """Whether the expression needs the key only: the log holds nothing else of a deleted row."""
    return names_in(expression) <= {name.casefold() for name in source.key} | _CONSTANT


def unknown_names(expression: str, source: Table) -> list[str]:
    known = {name.casefold() for name in source.column_names} | _CONSTANT
    return sorted(names_in(expression) - known)


def shaped(plain: Transfer, computed: Sequence[tuple[Column, str]], where: str | None, key: Sequence[str]) -> Transfer:
    """The transfer with its transforms. `key` are the target columns that identify a row."""
    source = plain.source
    named = frozenset[str]().union(
        *(names_in(text) for text in [*(e for _, e in computed), *([where] if where else [])])
    )
    used = [column for column in source.columns if column.name.casefold() in named or column.name in source.key]
    reads: list[tuple[Column, Column]] = [(column, column) for column in used]
    cells: list[int | str] = []
    for column, target in plain.columns:
        # Columns that an expression names are read unchanged; columns that are moved are read in the target's form.
        form = column if column.type.same_as(target.type) and column in used else target
        if (column, form) not in reads:
            reads.append((column, form))
        cells.append(reads.index((column, form)))
    columns = [*plain.columns, *((Column(target.name, target.type), target) for target, _ in computed)]
    cells += [expression for _, expression in computed]
    uses = tuple((column.name, place) for place, column in enumerate(used) if column.name.casefold() in named)
    names = [target.name for _, target in columns]
    return Transfer(
        source,
        plain.target,
        tuple(columns),
        tuple(names.index(name) for name in key),
        Shape(
            tuple(reads),
            tuple([column.name for column in used].index(name) for name in source.key),
            tuple(cells),
            uses,
            where,
            shared=any(target.name in key or names_in(expression) & _CONSTANT for target, expression in computed),
        ),
    )
