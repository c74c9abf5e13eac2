"""What expressions are about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tieout.errors import UsageError
from tieout.model.requests import TableRequest
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.tasks.transforms import expressions_of, names_in, nondeterministic_part, tells_tables_apart


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("price * qty", {"price", "qty"}),
        ("upper(`Näme`) || 'price'", {"näme"}),
        ("CASE WHEN a IS NULL THEN b ELSE c.field END", {"a", "b", "c"}),
        ("1 + 1", set()),
        ("substr(_table, 8)", {"_table"}),
        ("Region IN ('eu', 'us')", {"region"}),
    ],
)
def test_names(expression: str, names: set[str]) -> None:
    assert names_in(expression) == names


def test_what_is_no_expression() -> None:
    with pytest.raises(UsageError, match="is not a Spark SQL expression"):
        names_in("price *")


@pytest.mark.parametrize(
    "expression",
    [
        "md5(concat_ws('|', *))",
        "to_json(struct(*))",
        "hash(*) > 0",
        "t.*",
        "struct(* EXCEPT (a))",
        "count(*)",
        "identifier('a')",
    ],
)
def test_columns_that_have_no_name(expression: str) -> None:
    """Spark sees more columns than the table's: those that carry its rows."""
    with pytest.raises(UsageError, match="name the columns: ") as error:
        names_in(expression)
    assert repr(expression) in str(error.value)


@pytest.mark.parametrize("expression", ["a * b", "a*-1", "`*` * a", "concat('*', a, b /* * */)"])
def test_a_star_that_stands_for_no_columns(expression: str) -> None:
    assert names_in(expression) - {"b", "*"} == {"a"}


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("_tieout_work", "the column _tieout_work, and names that begin with _tieout_ are Tieout's own"),
        ("_Tieout_c0", "the column _Tieout_c0, and names that begin with _tieout_ are Tieout's own"),
        ("_table", "_table, the source's own name, and t has a column _table"),
        ("_Schema", "_schema, the source's own name, and t has a column _Schema"),
    ],
)
def test_names_that_could_be_tieout_s_own(column: str, words: str) -> None:
    whole = LogicalType(TypeName.INTEGER, "int", 32)
    table = Table(TableName("s", "t"), (Column("id", whole), Column(column, whole)), ("id",))
    request = TableRequest("t", expressions={"x": (f"`{column}` + 1", "")})
    with pytest.raises(UsageError, match=words):
        expressions_of(request, table, None)
    assert expressions_of(replace(request, expressions={"x": ("id + 1", "")}), table, None) is not None


def test_which_tell_tables_apart() -> None:
    assert tells_tables_apart(TableRequest("t", expressions={"shard": ("concat(_schema, '/', _table)", "")}))
    assert not tells_tables_apart(TableRequest("t", expressions={"shard": ("'table'", "")}))


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("at < now()", "now()"),
        ("at < current_timestamp", "current_timestamp()"),
        ("DATE 'today' - at", "'today'"),
        ("at > timestamp'Yesterday '", "'Yesterday '"),
        ("CAST('tomorrow' AS DATE)", "'tomorrow'"),
        ("unix_timestamp()", "current_timestamp()"),
        ("unix_timestamp(at)", None),
        ("note = 'today'", None),
        ("DATE '2024-01-01'", None),
        ("CAST('today CET' AS TIMESTAMP)", "'today CET'"),
        ("CAST('todays' AS DATE)", None),
        ("base64(aes_encrypt(a, k))", "aes_encrypt()"),
        ("aes_encrypt(a, k, 'GCM', 'DEFAULT', '')", "aes_encrypt()"),
        ("aes_encrypt(a, k, 'CBC', 'DEFAULT', X'')", "aes_encrypt()"),
        ("aes_encrypt(a, k, 'ECB')", None),
        ("aes_encrypt(a, k, 'GCM', 'DEFAULT', unhex('00'), a)", None),
        ("aes_decrypt(a, k)", None),
        ("reflect('java.lang.System', 'nanoTime')", "reflect()"),
        ("java_method('java.lang.System', 'nanoTime')", "java_method()"),
        ("try_reflect('java.lang.System', 'nanoTime')", "try_reflect()"),
    ],
)
def test_what_returns_something_else_each_time(expression: str, part: str | None) -> None:
    assert nondeterministic_part(expression) == part
