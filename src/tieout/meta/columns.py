"""Column types that keep the same value on SQLite, PostgreSQL and MySQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Dialect, LargeBinary, String, Text
from sqlalchemy.types import TypeDecorator, TypeEngine


def _on_mysql(dialect: Dialect) -> bool:
    return dialect.name in ("mysql", "mariadb")


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


class LongText(TypeDecorator[str]):
    """Text of any length; NUL and lone surrogates, which some engines refuse, are kept as escapes."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if _on_mysql(dialect):
            from sqlalchemy.dialects.mysql import LONGTEXT  # its TEXT ends at 64 KiB

            return dialect.type_descriptor(LONGTEXT())
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


class JsonText(TypeDecorator[Any]):
    """A JSON document as ASCII text: the engines' own JSON types reorder keys and refuse NUL."""

    impl = LongText
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json_text(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class Moment(TypeDecorator[datetime]):
    """An instant as fixed-width ISO text in UTC: exact to the microsecond, sorts as text."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


class Bytes(TypeDecorator[bytes]):
    """Bytes of any length."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if _on_mysql(dialect):
            from sqlalchemy.dialects.mysql import LONGBLOB  # its BLOB ends at 64 KiB

            return dialect.type_descriptor(LONGBLOB())
        return dialect.type_descriptor(LargeBinary())

    def process_result_value(self, value: Any, dialect: Dialect) -> bytes | None:
        return None if value is None else bytes(value)
