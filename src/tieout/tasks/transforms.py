"""Transforms of a task: which rows it selects, and which columns it computes on the way."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp

from tieout.errors import UsageError
from tieout.model.moves import OWN_COLUMN, SCHEMA_NAME, TABLE_NAME, Shape, Transfer, WrongForTypes
from tieout.model.relative_moments import is_relative_moment
from tieout.model.requests import TableRequest
from tieout.model.tables import Column, Table
from tieout.model.types import LogicalType, TypeName, fits_spark
from tieout.tasks.column_names import columns_meant

Pairs = Sequence[tuple[Column, Column]]
_CONSTANT = frozenset({SCHEMA_NAME, TABLE_NAME})


def condition_of(request: TableRequest) -> str | None:
    return request.source_where or request.where


def tells_tables_apart(request: TableRequest) -> bool:
    """Whether a computed column holds the name of the row's source table."""
    return any(names_source(expression) for expression, _ in request.expressions.values())


def names_in(expression: str) -> frozenset[str]:
    """The columns that a Spark SQL expression names, in lower case."""
    return frozenset(column.parts[0].name.casefold() for column in _parsed(expression).find_all(exp.Column))


def _parsed(expression: str) -> exp.Expr:
    """UsageError unless it depends on its row alone: rows are computed batch by batch, and one by one."""
    try:
        tree = sqlglot.parse_one(expression, dialect="spark")
    except sqlglot.errors.SqlglotError as error:
        line = str(error).splitlines()[0]
        raise UsageError(f"{expression!r} is not a Spark SQL expression: {line}") from None
    for kind, what in ((exp.Window, "a window function"), (exp.Query, "a subquery")):
        if tree.find(kind) is not None:
            raise UsageError(
                f"{expression!r} has {what}: its value depends on more than its row",
                "write an expression over the columns of one row",
            )
    calls = (call.name.casefold() for call in tree.find_all(exp.Anonymous))
    if tree.find(exp.Star) is not None or "identifier" in calls:
        raise UsageError(
            f"name the columns: {expression!r} does not say which it is about, and Spark would take Tieout's own, too",
            "write their names instead of * or IDENTIFIER()",
        )
    return tree


_AS_TEXT = {TypeName.INTERVAL, TypeName.BITS, TypeName.TIMETZ}


def refuse_texts(expressions: Sequence[str], source: Table) -> None:
    """WrongForTypes if an expression works with a column whose values Spark has only as texts, other than to cast it:
    as texts, 9 is more than 10, and 1.5 is not 1.50.
    """
    texts = {column.name.casefold(): column for column in source.columns if _has_only_texts(column.type)}
    for expression in expressions if texts else ():
        tree = _parsed(expression)
        for named in tree.find_all(exp.Column):
            column = texts.get(named.parts[0].name.casefold())
            if column is None or named is tree.unnest() or _is_cast(named):
                continue
            raise WrongForTypes(
                f"{expression!r}: Spark has no type for {source.name}.{column.name} ({column.type}), and would compare "
                "its values as texts",
                f"say what they are: CAST({column.name} AS DECIMAL(38, 10)), or AS STRING",
            )


def _has_only_texts(t: LogicalType) -> bool:
    if t.name is TypeName.DECIMAL:
        return not fits_spark(t)
    return t.name in _AS_TEXT or t.native == "money"


def _is_cast(named: exp.Expr) -> bool:
    around = named.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return isinstance(around, exp.Cast) or (isinstance(around, exp.Is) and isinstance(around.expression, exp.Null))


_NONDETERMINISTIC = frozenset(
    {
        *("rand", "randn", "random", "uniform", "randstr", "uuid", "shuffle"),
        *("now", "current_timestamp", "current_date", "curdate", "current_time", "localtimestamp", "unix_timestamp"),
        *("current_user", "user", "session_user", "current_timezone"),
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
        *("reflect", "java_method", "try_reflect"),  # any method of Java: Spark itself expects nothing of them
        "aes_encrypt",
    }
)


def nondeterministic_part(expression: str) -> str | None:
    """What in an expression returns something else each time: what it returned is gone. Spark knows more, once it has
    resolved types and functions (spark.frames.determinism).
    """
    tree = _parsed(expression)
    for cast in tree.find_all(exp.Cast):  # DATE 'today'
        if isinstance(cast.this, exp.Literal) and is_relative_moment(cast.this.name):
            return repr(cast.this.name)
    for call in tree.find_all(exp.Func):
        name = (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).casefold()
        if name in _NONDETERMINISTIC and not _is_exempt(name, call):
            return f"{name}()"
    return None


def _is_exempt(name: str, call: exp.Func) -> bool:
    if name == "unix_timestamp":
        return call.args.get("this") is not None
    if name != "aes_encrypt" or not isinstance(call, exp.Anonymous):
        return False
    # aes_encrypt(text, key, mode, padding, iv): the IV is random, unless it is given or the mode has none.
    arguments = [*call.expressions, None, None, None, None, None]
    mode, iv = arguments[2], arguments[4]
    literal = isinstance(iv, exp.Literal | exp.HexString | exp.Null)
    return _says(mode, "ecb") or (iv is not None and not (literal and not iv.name))


def _says(argument: exp.Expr | None, word: str) -> bool:
    return isinstance(argument, exp.Literal) and argument.name.casefold() == word


def names_source(expression: str) -> bool:
    """Whether it names the row's source table."""
    return bool(names_in(expression) & _CONSTANT)


def computed_of_key(expression: str, source: Table) -> bool:
    """Whether the key alone decides the value, and always the same one: the log holds nothing else of a deleted row."""
    known = {name.casefold() for name in source.key} | _CONSTANT
    return names_in(expression) <= known and nondeterministic_part(expression) is None


def is_function(name: str) -> bool:
    """Whether a name, in lower case, could be one of Spark's functions without parentheses, rather than a column."""
    return name in _NONDETERMINISTIC


def unknown_names(expression: str, source: Table) -> list[str]:
    known = {name.casefold() for name in source.column_names} | _CONSTANT
    return sorted(names_in(expression) - known)


def origins(transfer: Transfer) -> dict[str, str]:
    """For each column of the target that has the values of one column of the source, perhaps renamed, that column."""
    found = {}
    for place, (source, target) in enumerate(transfer.columns):
        cell = place if transfer.shape is None else transfer.shape.cells[place]
        origin = source.name if isinstance(cell, int) else renamed_column(cell, transfer.source)
        if origin is not None:
            found[target.name] = origin
    return found


def renamed_column(expression: str, source: Table) -> str | None:
    """The source's column, if the expression is nothing but its name."""
    names = names_in(expression)
    tree = sqlglot.parse_one(expression, dialect="spark").unnest()
    if not isinstance(tree, exp.Column) or len(tree.parts) != 1 or names & _CONSTANT:
        return None
    return next((name for name in source.column_names if name.casefold() in names), None)


def shaped(plain: Transfer, computed: Sequence[tuple[Column, str]], where: str | None, key: Sequence[str]) -> Transfer:
    """The transfer with its transforms. `key` are the target columns that identify a row."""
    source = plain.source
    texts = [*(text for _, text in computed), *([where] if where else [])]
    refuse_texts(texts, source)
    named = frozenset[str]().union(*map(names_in, texts))
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


def unknown_in(request: TableRequest, source: Table) -> list[str]:
    """The names in a task's expressions that the source table has no column for."""
    texts = [
        *(text for text, _ in request.expressions.values()),
        *([where] if (where := condition_of(request)) else []),
    ]
    return [name for text in texts for name in unknown_names(text, source)]


def projection(source: Table, computed: Sequence[tuple[Column, str]], where: str | None) -> Transfer:
    """Only what Spark computes of a table's rows: whether they pass, and the values of these columns.

    Nothing is moved: `reads` are the columns that expressions name.
    """
    texts = [*(text for _, text in computed), *([where] if where else [])]
    try:
        named = frozenset[str]().union(*(names_in(text) for text in texts))
        _refuse_ambiguous(named, source)
        refuse_texts(texts, source)
    except UsageError as error:
        raise type(error)(f"{source.name}: {error.message}", error.hint) from None
    used = [column for column in source.columns if column.name.casefold() in named]
    shape = Shape(
        tuple((column, column) for column in used),
        (),
        tuple(text for _, text in computed),
        tuple((column.name, place) for place, column in enumerate(used)),
        where,
    )
    columns = tuple((Column(column.name, column.type), column) for column, _ in computed)
    return Transfer(source, source, columns, (), shape)


def _refuse_ambiguous(named: frozenset[str], source: Table) -> None:
    """UsageError if a name could mean two columns: to Spark, names that differ only by case are the same."""
    for name in sorted(named):
        alike = [column.name for column in source.columns if column.name.casefold() == name]
        if alike and name.startswith(OWN_COLUMN):
            raise UsageError(
                f"an expression names the column {alike[0]}, and names that begin with {OWN_COLUMN} are Tieout's own",
                "rename the column, or leave it out of conditions and expressions",
            )
        if alike and name in _CONSTANT:
            raise UsageError(
                f"an expression names {name}, the source's own name, and {source.name.name} has a column {alike[0]}",
                "rename the column, or leave it out of conditions and expressions",
            )
        if len(alike) > 1:
            raise UsageError(f"an expression names {name}, and to Spark {' and '.join(alike)} are the same name")


def expressions_of(request: TableRequest, source: Table, target: Table | None) -> Transfer | None:
    """The task's expressions about a source table that is moved, to look at, perhaps before there is a target; None:
    none.
    """
    texts = [(name, expression) for name, (expression, _) in request.expressions.items()]
    where = condition_of(request)
    if not texts and where is None:
        return None
    meant = {} if target is None else columns_meant(request.expressions, target.column_names, target.name.name)
    unknown = LogicalType(TypeName.TEXT, "text")
    known = [target.column(meant[name]) if target and name in meant else Column(name, unknown) for name, _ in texts]
    return projection(source, list(zip(known, (text for _, text in texts), strict=True)), where)
