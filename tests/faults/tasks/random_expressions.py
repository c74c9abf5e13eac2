"""Conditions and expressions over the columns of a table, drawn by Hypothesis from a small grammar.

Strategies are kept: to make one takes longer than to draw from it.
"""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from tests.faults.tasks import expressions as ex
from tests.faults.tasks import values
from tests.faults.tasks.expressions import DECIMAL, INT, TEXT, Expression
from tests.faults.tasks.task import Column

Columns = tuple[Column, ...]
Drawn = st.SearchStrategy[Expression]

_POOLS = {**values.POOLS, "big": values.HUGE[1:]}
"""Spark reads -9223372036854775808 as a decimal number."""
_COMPARED = ("int", "big", "decimal", "text", "day", "at", "instant")
_SMALL = (1, 2, 3, 7, 10)


@cache
def computations(columns: Columns) -> Drawn:
    """Of any kind, or nothing but another name for a column."""
    renamed = [ex.column(each.name, each.kind) for each in columns]
    made = [_of(columns, kind, 2) for kind in (INT, DECIMAL, TEXT)]
    return st.one_of(*made, conditions(columns, 1), st.sampled_from(renamed))


@cache
def shards() -> Drawn:
    """What tells merged tables apart: t0_1 from t0_2."""
    table = ex.column("_table", TEXT)
    marked = ex.concatenated([table, ex.literal("@", TEXT)])
    return st.sampled_from((table, ex.upper(table), ex.part_of(table, 4), marked))


@cache
def conditions(columns: Columns, depth: int = 2) -> Drawn:
    simple = st.one_of(_comparisons(columns), _comparisons(columns), _tests(columns))
    if depth <= 0:
        return simple
    deeper = conditions(columns, depth - 1)
    return st.one_of(
        simple,
        st.builds(ex.both, deeper, deeper),
        st.builds(ex.either, deeper, deeper),
        st.builds(ex.negation, deeper),
    )


@cache
def _tests(columns: Columns) -> Drawn:
    """Whether a column is NULL, or true."""
    every = [ex.column(each.name, each.kind) for each in columns]
    return st.sampled_from(
        [
            *(ex.is_null(column, negated=negated) for column in every for negated in (False, True)),
            *(ex.is_true(flag) for flag in every if flag.kind == "flag"),
        ]
    )


@cache
def _comparisons(columns: Columns) -> Drawn:
    kinds = [kind for kind in _COMPARED if kind in (INT, TEXT) or _named(columns, kind)]
    return st.sampled_from(kinds).flatmap(lambda kind: _comparisons_of(columns, kind))


@cache
def _comparisons_of(columns: Columns, kind: str) -> Drawn:
    left = _of(columns, kind, 1)
    right = st.one_of(_literals(kind), left, *([_of(columns, INT, 0)] if kind == DECIMAL else []))
    return st.one_of(
        st.builds(ex.compared, st.sampled_from(ex.COMPARISONS), left, right),
        st.builds(ex.among, left, st.lists(_literals(kind, nulls=True), min_size=1, max_size=4)),
    )


@cache
def _of(columns: Columns, kind: str, depth: int) -> Drawn:
    made = {INT: _ints, DECIMAL: _decimals, TEXT: _texts}.get(kind)
    if made is None or depth <= 0:
        return _atoms(columns, kind)
    deeper = made(columns, depth)
    return st.one_of(_atoms(columns, kind), deeper, deeper, _chosen(columns, kind, depth))


def _named(columns: Columns, kind: str) -> list[Expression]:
    return [ex.column(each.name, each.kind) for each in columns if each.kind == kind]


@cache
def _atoms(columns: Columns, kind: str) -> Drawn:
    found = _named(columns, kind)
    if kind == TEXT:
        found += [*_named(columns, "long"), ex.column("_table", TEXT)]
    return st.sampled_from(found) if found else _literals(kind)


@cache
def _literals(kind: str, *, nulls: bool = False) -> Drawn:
    pool: list[object] = [*_POOLS[kind], *([None] if nulls else [])]
    return st.sampled_from([ex.literal(value, kind) for value in pool])


@cache
def _ints(columns: Columns, depth: int) -> Drawn:
    """Products of three numbers at most, so that none is too large."""
    deeper, small = _of(columns, INT, depth - 1), st.sampled_from(_SMALL)
    signs = st.sampled_from(ex.ARITHMETIC)
    found = [
        st.builds(ex.calculated, signs, deeper, _atoms(columns, INT)),
        st.builds(ex.calculated, signs, deeper, _literals(INT)),
        st.builds(ex.remainder, deeper, small),
        st.builds(ex.divided, deeper, small),
        _of(columns, TEXT, depth - 1).map(ex.length),
    ]
    if _named(columns, DECIMAL):
        found.append(_atoms(columns, DECIMAL).map(ex.without_digits))
    if raw := _named(columns, "raw"):
        found.append(st.sampled_from([ex.length(each) for each in raw]))
    return st.one_of(found)


@cache
def _decimals(columns: Columns, depth: int) -> Drawn:
    """Products of three numbers at most, so that Spark computes all of their digits."""
    right = st.one_of(_atoms(columns, DECIMAL), _literals(DECIMAL), _atoms(columns, INT))
    return st.builds(ex.calculated, st.sampled_from(ex.ARITHMETIC), _of(columns, DECIMAL, depth - 1), right)


@cache
def _texts(columns: Columns, depth: int) -> Drawn:
    deeper = _of(columns, TEXT, depth - 1)
    # Of lower(upper(name)) Spark computes lower(name) alone, which is not the same for ß.
    in_any_case = deeper.filter(lambda text: not text.sql.startswith(("upper", "lower")))
    big = _named(columns, "big")
    numbers = st.one_of(_of(columns, INT, depth - 1), *([st.sampled_from(big)] if big else []))
    return st.one_of(
        in_any_case.map(ex.upper),
        in_any_case.map(ex.lower),
        st.lists(st.one_of(deeper, _literals(TEXT)), min_size=2, max_size=3).map(ex.concatenated),
        st.builds(ex.part_of, deeper, st.integers(1, 4), st.one_of(st.none(), st.integers(0, 5))),
        numbers.map(ex.as_text),
        st.just(ex.column("_schema", TEXT)),
    )


@cache
def _chosen(columns: Columns, kind: str, depth: int) -> Drawn:
    """CASE and COALESCE."""
    deeper = _of(columns, kind, depth - 1)
    return st.one_of(
        st.builds(ex.case, conditions(columns, 0), deeper, st.one_of(st.none(), deeper)),
        st.lists(st.one_of(deeper, _literals(kind)), min_size=2, max_size=3).map(ex.coalesced),
    )
