"""What tables were when their log was begun, kept with their publication: the log does not tell if that changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tieout.connectors.protocols.change_log import Watched
from tieout.model.tables import TableName

# A partition's file is another one once it is truncated, and the log tells that of whole tables alone. What an altered
# publication did not tell is lost, even if it is as before by now: its rows in the catalog must be untouched.
_TABLES = """
SELECT n.nspname, c.relname, c.oid::int8,
  (SELECT jsonb_object_agg(a.attname, jsonb_build_array(
     format_type(a.atttypid, a.atttypmod), a.atttypid::int8, a.atttypmod)) FROM pg_attribute a
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT coalesce(jsonb_object_agg(
     t.relid::oid, jsonb_build_array(CASE WHEN q.relnamespace = c.relnamespace THEN q.relname ELSE t.relid::text END,
       pg_relation_filenode(t.relid))), '{}')
   FROM pg_partition_tree(c.oid) t JOIN pg_class q ON q.oid = t.relid WHERE t.isleaf AND t.relid <> c.oid),
  concat_ws('.', p.oid, p.xmin, r.oid, r.xmin)
FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid JOIN pg_class c ON c.oid = r.prrelid
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = %s"""
_NOTED = "SELECT obj_description(oid, 'pg_publication') FROM pg_publication WHERE pubname = %s"

_State = dict[str, Any]


def note(connection: Any, publication: str) -> None:
    """Keeps what the publication's tables are now."""
    from psycopg import sql

    text = json.dumps({str(name): state for name, state in _states(connection, publication).items()})
    connection.execute(
        sql.SQL("COMMENT ON PUBLICATION {} IS {}").format(sql.Identifier(publication), sql.Literal(text))
    )


def watched(connection: Any, publication: str, tables: Sequence[TableName]) -> Watched:
    """What is different from what was noted."""
    row = connection.execute(_NOTED, [publication]).fetchone()
    if row is None:
        return Watched()  # the log can't be read, which is more than a table's trouble
    noted: dict[str, _State] = json.loads(row[0] or "{}")
    now = _states(connection, publication)
    found = Watched()
    for table in tables:
        before = noted.get(str(table))
        reason = _reason(before, now.get(table))
        if reason is not None:
            found.reasons[table] = reason
        elif before is not None:
            found.remarks.extend(f"{table}: {remark}" for remark in _remarks(before, now[table]))
    return found


def _states(connection: Any, publication: str) -> dict[TableName, _State]:
    return {
        TableName(schema, name): {"oid": oid, "types": types, "partitions": partitions, "published": published}
        for schema, name, oid, types, partitions, published in connection.execute(_TABLES, [publication]).fetchall()
    }


def _reason(before: _State | None, now: _State | None) -> str | None:
    if now is None or (before is not None and before["oid"] != now["oid"]):
        return "it was dropped, renamed or made anew"
    if before is None:
        return None
    if before.get("published", now["published"]) != now["published"]:
        return "its publication was altered, which may have left out changes"
    for partition, (name, _) in before["partitions"].items():
        if partition not in now["partitions"]:
            return f"its partition {name} was detached or dropped"
    for column, (kind, *numbers) in before["types"].items():
        # One that is gone is missing in the log, too. What a type is called depends on the search path.
        shown, *known = now["types"].get(column, [kind, *numbers])
        if known != numbers:
            return f"its column {column} was {kind}, and is {shown} now"
    return None


def _remarks(before: _State, now: _State) -> Iterator[str]:
    for partition, (name, file) in now["partitions"].items():
        if partition not in before["partitions"]:
            yield f"it got a partition {name}; rows that it had before are not moved: verify"
        elif before["partitions"][partition][1] != file:
            yield f"its partition {name} was truncated, or written anew, which the log does not tell: verify"
