"""The comparison of two schemas."""

import pytest

from tieout.errors import UsageError
from tieout.model.canonical_kinds import Form
from tieout.model.requests import TableRequest, VerifyOptions
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.verification.columns import compare_schemas

INT = LogicalType(TypeName.INTEGER, "int", 32)
BIGINT = LogicalType(TypeName.INTEGER, "bigint", 64)
TEXT = LogicalType(TypeName.TEXT, "text")
FLOAT = LogicalType(TypeName.FLOAT64, "double")
SHAPE = LogicalType(TypeName.OPAQUE, "geometry")
ANY = TableRequest("t")


def table(*columns, key=()):
    return Table(TableName("s", "t"), columns, key)


def compare(source, target, request=ANY, **options):
    return compare_schemas(source, target, request, VerifyOptions(**options))


def test_a_column_on_one_side_only_breaks_the_table():
    found = compare(table(Column("a", INT), Column("b", INT)), table(Column("a", INT), Column("c", INT)))
    assert [(f.column, f.message, f.breaks) for f in found.findings] == [
        ("b", "is only on the source (int)", True),
        ("c", "is only on the target (int)", True),
    ]
    assert [pair.source.name for pair in found.pairs] == ["a"]


def test_a_column_that_was_not_asked_for_breaks_nothing():
    request = TableRequest("t", exclude_columns=("b",))
    found = compare(table(Column("a", INT), Column("b", INT)), table(Column("a", INT)), request)
    assert found.findings == ()


def test_other_types_and_nullability_are_told_and_compared():
    found = compare(table(Column("a", INT, nullable=False)), table(Column("a", BIGINT)))
    assert [(f.aspect, f.message, f.breaks) for f in found.findings] == [
        ("type", "int → bigint", False),
        ("nullability", "NOT NULL → may be NULL", False),
    ]
    assert found.pairs[0].kind.form is Form.INTEGER


def test_what_has_no_common_form_is_unverified_and_the_rest_is_compared():
    found = compare(table(Column("a", INT), Column("g", SHAPE)), table(Column("a", INT), Column("g", TEXT)))
    assert [column.column for column in found.unverified] == ["g"]
    assert [pair.source.name for pair in found.pairs] == ["a"]


def test_a_key_that_only_the_target_declares_serves():
    found = compare(table(Column("a", INT)), table(Column("a", INT), key=("a",)))
    assert found.key == (0,)
    assert found.findings[0].aspect == "key"


def test_a_key_of_the_users_goes_before_the_declared_one():
    source = table(Column("a", INT), Column("b", INT), key=("a",))
    assert compare(source, source, TableRequest("t", key=("b",))).key == (1,)


@pytest.mark.parametrize(
    "request_",
    [
        TableRequest("t", columns=("nope",)),
        TableRequest("t", exclude_columns=("nope",)),
        TableRequest("t", tolerance={"nope": "1"}),
        TableRequest("t", key=("nope",)),
        TableRequest("t", tolerance={"a": "much"}),
        TableRequest("t", tolerance={"a": "-1"}),
    ],
)
def test_what_can_not_be_meant_is_refused(request_):
    with pytest.raises(UsageError):
        compare(table(Column("a", INT)), table(Column("a", INT)), request_)


def names_of(found):
    return [pair.source.name for pair in found.pairs], found.key


def test_a_key_is_compared_whatever_columns_are_chosen():
    """Without it, rows that change places would be equal."""
    source = table(Column("id", INT), Column("Note", INT), Column("n", INT), key=("id",))
    target = table(Column("ID", INT), Column("note", INT), Column("n", INT))
    for name in ("Note", "note", "NOTE"):
        assert names_of(compare(source, target, TableRequest("t", columns=(name,)))) == (["id", "Note"], (0,))
        assert names_of(compare(target, source, TableRequest("t", columns=(name,)))) == (["ID", "note"], (0,))
    left_out = TableRequest("t", columns=("note",), exclude_columns=("ID",))
    assert names_of(compare(source, target, left_out)) == (["Note"], ())
    other = TableRequest("t", columns=("note",), key=("N",))
    assert names_of(compare(source, target, other)) == (["Note", "n"], (1,))
    # Of a table that has none of the columns, nothing is compared: its key is not what was asked for.
    assert names_of(compare(source, target, TableRequest("*", columns=("price",)))) == ([], ())


def test_what_is_said_of_a_column_may_name_it_as_either_side_does():
    source, target = table(Column("A", FLOAT), Column("b", INT)), table(Column("a", FLOAT), Column("b", INT))
    request = TableRequest("t", exclude_columns=("B",), tolerance={"a": "0.1"}, expressions={"a": ("x", "y")})
    (pair,) = compare(source, target, request).pairs
    assert pair.kind.tolerance is not None
    assert (pair.source_expression, pair.target_expression) == ("x", "y")


def test_no_two_expressions_are_about_one_column():
    request = TableRequest("t", expressions={"price": ("a", ""), "Price": ("b", "")})
    with pytest.raises(UsageError, match="price and Price are one column of t"):
        compare(table(Column("price", INT)), table(Column("price", INT)), request)
    both = table(Column("price", INT), Column("Price", INT))
    assert [pair.source_expression for pair in compare(both, both, request).pairs] == ["a", "b"]


@pytest.mark.parametrize("pattern", ["*", "?"])
def test_a_pattern_may_name_columns_that_a_table_lacks(pattern):
    one = table(Column("a", INT))
    assert compare(one, one, TableRequest(pattern, tolerance={"b": "1"})).findings == ()


def test_a_chosen_column_that_a_table_lacks_on_both_sides_is_named():
    """Compared without it, the table would pass for equal in what was asked for."""
    both = table(Column("id", INT), Column("note", TEXT), key=("id",))
    chosen = TableRequest("*", columns=("id", "total", "NOTE"), exclude_columns=("other",))
    found = compare(both, both, chosen)
    assert [(f.column, f.message, f.breaks) for f in found.findings] == [("total", "is on neither side", False)]
    assert [pair.source.name for pair in found.pairs] == ["id", "note"]


def ints(*names):
    return table(*(Column(name, INT) for name in names))


@pytest.mark.parametrize(
    ("source", "target", "pairs", "alone"),
    [
        (("Total",), ("Total", "total"), [("Total", "Total")], ["total"]),
        (("Total", "total"), ("total",), [("total", "total")], ["Total"]),
        (("Total", "total"), ("TOTAL", "total"), [("Total", "TOTAL"), ("total", "total")], []),
        (("Total", "TOTAL"), ("total",), [], ["Total", "TOTAL", "total"]),
        (("TOTAL",), ("Total", "total"), [], ["TOTAL", "Total", "total"]),
    ],
)
def test_no_two_columns_are_compared_with_one_and_none_is_passed_over(source, target, pairs, alone):
    found = compare(ints("id", *source), ints("id", *target))
    assert [(pair.source.name, pair.target.name) for pair in found.pairs] == [("id", "id"), *pairs]
    assert [finding.column for finding in found.findings if finding.breaks] == alone


def test_a_name_is_the_column_that_is_written_so():
    """`total` is only on the target, and `Total` is on both sides."""
    sides = ints("id", "Total"), ints("id", "Total", "total")
    found = compare(*sides, TableRequest("t", exclude_columns=("total",), tolerance={"Total": "1"}))
    assert ([pair.source.name for pair in found.pairs], found.findings) == (["id", "Total"], ())
    assert [column.column for column in compare(*sides, TableRequest("t", columns=("total",))).findings] == ["total"]
