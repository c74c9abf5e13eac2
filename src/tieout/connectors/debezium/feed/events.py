"""Parses a line of a feed: a change event of Debezium, with its schema, as Kafka Connect's JSON converter writes it.

A line is the event's value, {"schema": …, "payload": …}; or an object with `key` and `value` of that form; or what
kcat -J writes, with both as text.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from tieout.connectors.debezium.feed.repeats import Place, place_of
from tieout.connectors.debezium.types import Decode, field_type
from tieout.model.tables import TableName
from tieout.model.types import LogicalType

CREATED, UPDATED, DELETED, READ, TRUNCATED = "c", "u", "d", "r", "t"
_ROWS: Final = frozenset({CREATED, UPDATED, DELETED, READ})
_MESSAGE = "m"
_WITH_SCHEMAS = (
    "set value.converter.schemas.enable=true (Debezium Server: debezium.format.value=json and "
    "debezium.format.value.schemas.enable=true) and write the events again"
)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs write at the start of a file; where files were joined, a later line begins with it."""

_loads: Callable[[str], Any] = json.JSONDecoder(parse_float=Decimal, parse_constant=str).decode


class BadLine(Exception):
    """A line that is not an event; the message says why, without a value. `fix`: what to do."""

    def __init__(self, reason: str, fix: str = "take the line out, or write it again") -> None:
        super().__init__(reason)
        self.reason, self.fix = reason, fix


@dataclass(frozen=True, slots=True)
class Field:
    """A column as an event describes it. `default` is None if the schema has none."""

    name: str
    type: LogicalType
    nullable: bool
    decode: Decode
    default: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The columns of an event. One object for all events with the same schema."""

    fields: tuple[Field, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a row, or a table that was emptied. Without a key in the line, `key` is None.

    `before` and `after` are as in the event, not decoded; the `before` of a delete may be its key alone. `at`:
    microseconds since 1970. `place`: where the source's log has it. `origin`: the connector, the server and the
    database that it is from.
    """

    table: TableName
    op: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    shape: Shape | None
    key: tuple[str, ...] | None
    at: int
    transaction: str
    connector: str
    place: Place | None = None
    origin: tuple[str, str, str] = ("", "", "")


def is_blank(line: bytes) -> bool:
    return not line.removeprefix(_BYTE_ORDER_MARK).strip()


@dataclass
class LineParser:
    """`schema`: the first one that a line named."""

    schema: str = ""
    _shapes: dict[bytes, Shape] = field(default_factory=dict)

    def parse(self, line: bytes) -> Event | None:
        """None for a line that changes no row: a tombstone, a heartbeat, a message, a change of a definition."""
        try:
            found = _loads(line.removeprefix(_BYTE_ORDER_MARK).decode())
            if not isinstance(found, dict):
                raise BadLine("it is not a JSON object", "write one event in a line")
            key, value = _parts(found)
        except (ValueError, RecursionError):
            raise BadLine("it is not valid JSON in UTF-8", "write one event in a line") from None
        try:
            return None if value is None else self._event(key, value)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BadLine("it is not built as a change event of Debezium") from None

    def _event(self, key: Any, value: Mapping[str, Any]) -> Event | None:
        if "payload" not in value:
            raise _without_schema(value)
        payload, schema = value["payload"], value.get("schema")
        if payload is None:
            return None
        if schema is None:
            raise _without_schema(payload)
        source = payload.get("source") or {}
        place = source.get("schema") or source.get("db") or ""
        self.schema = self.schema or place
        op = payload.get("op")
        if op == _MESSAGE or (op is None and str(schema.get("name") or "").startswith("io.debezium.")):
            return None
        if op is None:
            raise _without_op()
        if op not in _ROWS and op != TRUNCATED:
            raise BadLine("its `op` is none of c, u, d, r, t and m")
        if not source.get("table") or not place:
            raise BadLine("its `source` names no table and schema")
        before, after = payload.get("before"), payload.get("after")
        if op == DELETED and not isinstance(before, dict):
            before = _deleted(key)
        if op in _ROWS and op != DELETED and not isinstance(after, dict):
            raise BadLine("it has no after row")
        shape = self._shape(schema) if op in _ROWS else None
        at = int(source.get("ts_us") or 1000 * int(source.get("ts_ms") or payload.get("ts_ms") or 0))
        return Event(
            TableName(place, source["table"]),
            op,
            before,
            after,
            shape,
            _key(key),
            at,
            str(source.get("gtid") or source.get("txId") or source.get("lsn") or ""),
            str(source.get("connector") or ""),
            place_of(source, at if source.get("ts_us") or source.get("ts_ms") else 0),
            (str(source.get("connector") or ""), str(source.get("name") or ""), str(source.get("db") or "")),
        )

    def _shape(self, schema: Mapping[str, Any]) -> Shape:
        parts = {part["field"]: part for part in schema["fields"]}
        row = (parts.get("after") or parts["before"])["fields"]
        # Equal bytes are of equal schemas; equal schemas with other bytes are only parsed twice.
        packed = pickle.dumps(row)
        known = self._shapes.get(packed)
        if known is None:
            fields = tuple(_field(part) for part in row)
            known = self._shapes[packed] = Shape(fields, tuple(each.name for each in fields))
        return known


def _parts(found: dict[str, Any]) -> tuple[Any, Any]:
    """The key and the value of a line; the key is None if the line has none."""
    if "schema" in found:
        return None, found
    if "value" in found:
        return _nested(found.get("key")), _nested(found["value"])
    if "topic" in found and "payload" in found:
        return _nested(found.get("key")), _nested(found["payload"])
    return None, found


def _nested(part: Any) -> Any:
    part = _loads(part) if isinstance(part, str) else part
    if part is not None and not isinstance(part, dict):
        raise BadLine("its key or its value is not a JSON object")
    return part


def _key(key: Any) -> tuple[str, ...] | None:
    if key is None:
        return None
    if not isinstance(key.get("schema"), dict) or "payload" not in key:
        raise BadLine("its key has no schema", "set key.converter.schemas.enable=true, too, and write the events again")
    return tuple(part["field"] for part in key["schema"].get("fields") or ())


def _deleted(key: Any) -> Mapping[str, Any]:
    """The key in the line stands for the deleted row: nothing but the key is taken of it anyway."""
    row = None if key is None else key.get("payload")
    if not isinstance(row, dict):
        raise BadLine(
            "it deletes a row, and has neither its before row nor its key",
            "write the events with their keys; from PostgreSQL, REPLICA IDENTITY has to tell the key of deleted rows",
        )
    return row


def _field(part: Mapping[str, Any]) -> Field:
    meant, decode = field_type(part)
    return Field(part["field"], meant, bool(part.get("optional")), decode, part.get("default"))


def _without_schema(value: Mapping[str, Any]) -> BadLine:
    if "op" in value or (isinstance(value.get("payload"), dict) and "op" in value["payload"]):
        return BadLine("it has no schema, so the types of its columns are unknown", _WITH_SCHEMAS)
    return BadLine("it is not a change event of Debezium with its schema", _WITH_SCHEMAS)


def _without_op() -> BadLine:
    return BadLine(
        "it has no `op`: an event that was flattened does not tell what happened to its row",
        "write the events without the transform ExtractNewRecordState",
    )
