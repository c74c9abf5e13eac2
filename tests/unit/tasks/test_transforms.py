"""What expressions are about."""

from __future__ import annotations

import pytest

from tieout.errors import UsageError
from tieout.model.requests import TableRequest
from tieout.tasks.transforms import names_in, nondeterministic_part, tells_tables_apart


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
