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
