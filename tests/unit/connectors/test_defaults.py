"""Which defaults another engine is given."""

from __future__ import annotations

import pytest

from tieout.connectors.sql.ddl import Default, DefaultKind, plain_default
from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName

NUMBER, TEXT, NOW = DefaultKind.NUMBER, DefaultKind.TEXT, DefaultKind.NOW


@pytest.mark.parametrize(
    ("kind", "given", "default"),
    [
        (TypeName.INTEGER, "5", Default(NUMBER, "5")),
        (TypeName.INTEGER, "'-1'::integer", Default(NUMBER, "-1")),
        (TypeName.INTEGER, "(-1)", Default(NUMBER, "-1")),
        (TypeName.DECIMAL, "-1.50", Default(NUMBER, "-1.50")),
        (TypeName.BOOLEAN, "true", Default(NUMBER, "1")),
        (TypeName.INTEGER, "nextval('s'::regclass)", None),
        (TypeName.INTEGER, "NULL", None),
        (TypeName.TEXT, "'it''s'::character varying", Default(TEXT, "it's")),
        (TypeName.TEXT, "''", Default(TEXT, "")),
        (TypeName.TEXT, r"'back\\slash'", None),
        (TypeName.TEXT, "('a'::text || 'b'::text)", None),
        (TypeName.TEXT, "'a'::text || 'b'::text", None),
        (TypeName.TEXT, "uuid()", None),
        (TypeName.ENUM, "'a'::\"Odd Type\"", Default(TEXT, "a")),
        (TypeName.DATE, "'2024-02-29'::date", Default(TEXT, "2024-02-29")),
        (TypeName.DATE, "'0000-00-00'", None),
        (TypeName.TIMESTAMP, "'2024-02-30 00:00:00'", None),
        (TypeName.TIMESTAMP, "current_timestamp(6)", Default(NOW)),
        (TypeName.INSTANT, "now()", Default(NOW)),
        (TypeName.DATE, "CURRENT_TIMESTAMP", None),
        (TypeName.JSON, "'{}'::jsonb", Default(TEXT, "{}")),
        (TypeName.JSON, "'{'", None),
        (TypeName.BITS, "b'101'", None),
        (TypeName.BINARY, "'\\x00'::bytea", None),
        (TypeName.TEXT, None, None),
    ],
)
def test_defaults_that_two_engines_agree_on(kind: TypeName, given: str | None, default: Default | None) -> None:
    assert plain_default(Column("c", LogicalType(kind, str(kind)), default=given)) == default
