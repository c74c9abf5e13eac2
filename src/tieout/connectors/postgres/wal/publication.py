"""Publications: the tables that a slot reports, their replica identities, and how they were defined at the start."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.wal import write_ahead_log
from tieout.connectors.protocols.change_log import LogCoverage, Retyped
from tieout.errors import UnsupportedError
from tieout.model.tables import TableName

# A deferrable key can't be a replica identity. The rows of a partitioned table are logged as its partitions say, and
# ALTER TABLE … REPLICA IDENTITY does not reach those.
_IDENTITIES = """
SELECT c.relreplident::text, CASE WHEN c.relreplident = 'f' THEN
  (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')
ELSE
  (SELECT array_agg(a.attname::text ORDER BY k.place) FROM pg_index i
   CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
   WHERE i.indrelid = c.oid AND i.indisvalid AND i.indimmediate AND k.place <= i.indnkeyatts
     AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident))
END, EXISTS (SELECT FROM pg_partition_tree(c.oid) t JOIN pg_class p ON p.oid = t.relid
  WHERE t.isleaf AND p.relreplident <> c.relreplident)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p')"""


class IdentityKind(StrEnum):
    DEFAULT = "default"
    INDEX = "index"
    FULL = "full"
    NOTHING = "nothing"


_KINDS = {kind.value[0]: kind for kind in IdentityKind}


@dataclass(frozen=True, slots=True)
class ReplicaIdentity:
    """`columns` are those whose old values the server logs. Without any, no UPDATE or DELETE can be followed.

    `uneven`: some partitions have another kind than the table itself, and old images don't say which.
    """

    kind: IdentityKind
    columns: tuple[str, ...]
    uneven: bool = False


def identities(connection: Any, tables: Iterable[TableName]) -> dict[TableName, ReplicaIdentity]:
    """The replica identity of each of these tables that exists."""
    found = {}
    for table in tables:
        row = connection.execute(_IDENTITIES, [table.schema, table.name]).fetchone()
        if row is not None:
            kind, columns, uneven = row
            found[table] = ReplicaIdentity(_KINDS[kind], tuple(columns or ()), uneven)
    return found


_OPTIONS = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"

_CREATE = f"CREATE PUBLICATION {{}} FOR TABLE {{}} WITH ({_OPTIONS})"
_SET_TABLES = "ALTER PUBLICATION {} SET TABLE {}"
_SET_OPTIONS = f"ALTER PUBLICATION {{}} SET ({_OPTIONS})"


def publish(connection: Any, publication: str, tables: Sequence[TableName]) -> None:
    """Makes the publication cover exactly these tables, whether it existed or not."""
    assert tables, "a publication needs tables"
    _require_identities(connection, tables)
    name, listed = quoting.name(publication), ", ".join(map(quoting.table, tables))
    with connection.transaction():
        if exists(connection, publication):
            connection.execute(_SET_TABLES.format(name, listed))
            connection.execute(_SET_OPTIONS.format(name))
        else:
            connection.execute(_CREATE.format(name, listed))
        note(connection, publication)


def publish_more(connection: Any, publication: str, tables: Sequence[TableName]) -> None:
    """Makes the publication cover these tables, too, and records how they are now. The others stay as they were."""
    _require_identities(connection, tables)
    name = quoting.name(publication)
    with connection.transaction():
        published = _states(connection, publication)
        for table in tables:
            if table not in published:
                connection.execute(f"ALTER PUBLICATION {name} ADD TABLE {quoting.table(table)}")
        noted = _noted_to_change(connection, publication)
        now = _states(connection, publication)
        noted.update({str(table): now[table] for table in tables})
        _note(connection, publication, noted)


def note_as_in(connection: Any, other: str, publication: str, tables: Sequence[TableName]) -> None:
    """Records the definitions of these tables as another publication has them."""
    with connection.transaction():
        noted, of_other = _noted_to_change(connection, publication), _noted_to_change(connection, other)
        for name in map(str, tables):
            if name in noted and name in of_other:
                noted[name] = {**of_other[name], "published": noted[name]["published"]}
        _note(connection, publication, noted)


def unpublish(connection: Any, publication: str) -> None:
    connection.execute(f"DROP PUBLICATION IF EXISTS {quoting.name(publication)}")


def exists(connection: Any, publication: str) -> bool:
    return connection.execute("SELECT FROM pg_publication WHERE pubname = %s", [publication]).fetchone() is not None


def _require_identities(connection: Any, tables: Sequence[TableName]) -> None:
    """A published table without an identity refuses every UPDATE and DELETE: its users would get errors."""
    for table, found in identities(connection, tables).items():
        if (reason := unfit(table, found)) is not None:
            raise UnsupportedError(*reason)


def unfit(table: TableName, found: ReplicaIdentity, key: Sequence[str] = ()) -> tuple[str, str] | None:
    """The reason why a table with this identity can't be followed, and the fix. `key` identifies its rows."""
    if found.uneven:
        hint = "give the table and each of its partitions the same REPLICA IDENTITY"
        return f"partitions of {table} have another replica identity than the table", hint
    if not found.columns:
        hint = f"add a primary key, or ALTER TABLE {quoting.shown(table)} REPLICA IDENTITY FULL"
        return f"{table} has no replica identity: its changes can't be followed", hint
    if not set(key) <= set(found.columns):
        hint = f"ALTER TABLE {quoting.shown(table)} REPLICA IDENTITY DEFAULT, or FULL"
        return f"the replica identity of {table} leaves out its key ({', '.join(key)})", hint
    return None


# The log does not report that a table changed its types or partitions, and knows columns by their names alone, so the
# publication keeps how its tables were when the log began. A partition's file is another one once it is truncated, and
# the log reports that for whole tables alone. What an altered publication left out is lost, even if it is as before by
# now: its rows in the catalog must be untouched.
_TABLES = """
SELECT n.nspname, c.relname, c.oid::int8,
  (SELECT jsonb_object_agg(a.attname, jsonb_build_array(
     format_type(a.atttypid, a.atttypmod), a.atttypid::int8, a.atttypmod)) FROM pg_attribute a
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT coalesce(jsonb_object_agg(
     t.relid::oid, jsonb_build_array(CASE WHEN q.relnamespace = c.relnamespace THEN q.relname ELSE t.relid::text END,
       pg_relation_filenode(t.relid))), '{}')
   FROM pg_partition_tree(c.oid) t JOIN pg_class q ON q.oid = t.relid WHERE t.isleaf AND t.relid <> c.oid),
  concat_ws('.', p.oid, p.xmin, r.oid, r.xmin), pg_relation_filenode(c.oid),
  (SELECT jsonb_object_agg(a.attname, a.attnum) FROM pg_attribute a
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), c.relnatts
FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid JOIN pg_class c ON c.oid = r.prrelid
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = %s"""
_NOTED = "SELECT obj_description(oid, 'pg_publication') FROM pg_publication WHERE pubname = %s"

_State = dict[str, Any]
_FACTS = ("oid", "types", "partitions", "published", "file", "numbers", "last")
"""`numbers` are those of the columns: a name may become another column's, a number never. `last` is the highest number
whose column was noted. Earlier versions noted neither.
"""

# The log does not have generated columns.
_GENERATED = """SELECT attnum FROM pg_attribute
WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped AND attgenerated <> ''"""


def note(connection: Any, publication: str) -> None:
    """Records the current definitions of the publication's tables."""
    _note(connection, publication, {str(name): state for name, state in _states(connection, publication).items()})


def _note(connection: Any, publication: str, states: dict[str, _State]) -> None:
    text = quoting.text(json.dumps(states))
    connection.execute(f"COMMENT ON PUBLICATION {quoting.name(publication)} IS {text}")


def _noted_to_change(connection: Any, publication: str) -> dict[str, _State]:
    """What is recorded. Nobody else changes it until the transaction ends: two movers may record their tables."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"tieout {publication}"])
    row = connection.execute(_NOTED, [publication]).fetchone()
    found: dict[str, _State] = json.loads((row and row[0]) or "{}")
    return found


def accept(connection: Any, publication: str, table: TableName, state: str) -> None:
    """Records a table's definition as it was read earlier."""
    with connection.transaction():
        noted = _noted_to_change(connection, publication)
        _note(connection, publication, {**noted, str(table): json.loads(state)})


def note_added(connection: Any, publication: str, table: TableName, columns: Sequence[str]) -> None:
    """Records those of the log's columns, in its order, that are not known yet. UnsupportedError if one of them may be
    another column than in the log: it is an earlier one that was renamed, or new ones were dropped or renamed since.
    """
    with connection.transaction():
        noted = _noted_to_change(connection, publication)
        before, now = noted.get(str(table)), _states(connection, publication).get(table)
        if before is None or now is None or before["oid"] != now["oid"] or "numbers" not in before:
            return  # `coverage` says what is wrong with it
        new = [name for name in columns if name not in before["numbers"]]
        generated = {number for (number,) in connection.execute(_GENERATED, [now["oid"]]).fetchall()}
        if (reason := _unlike_log(before, now, new, generated)) is not None:
            raise UnsupportedError(reason)
        if new and not write_ahead_log.is_standby(connection):
            state = {**_with_columns(before, now, new), "last": now["numbers"][new[-1]]}
            _note(connection, publication, {**noted, str(table): state})


def _unlike_log(before: _State, now: _State, new: Sequence[str], generated: set[int]) -> str | None:
    """Why one of these columns, which the log has in this order after those of `before`, may be another one now."""
    for name in new:
        if name not in now["numbers"]:
            return f"its new column {name} was dropped or renamed again"
    numbers = [now["numbers"][name] for name in new]
    for name, number in zip(new, numbers, strict=True):
        if number <= before["last"]:
            earlier = next((each for each, known in before["numbers"].items() if known == number), "an earlier column")
            return f"its column {name} is not new: it is {earlier}, which was renamed, and its values were not moved"
    unlogged = generated.union(before["numbers"].values())
    if numbers != [each for each in range(before["last"] + 1, max(numbers, default=0) + 1) if each not in unlogged]:
        return f"new columns were dropped or renamed since {new[0]} was added, so {new[0]} may be another one by now"
    return None


def coverage(connection: Any, publication: str, tables: Sequence[TableName]) -> LogCoverage:
    """The differences from the recorded definitions."""
    row = connection.execute(_NOTED, [publication]).fetchone()
    if row is None:
        return LogCoverage()  # the log can't be read at all, which is reported elsewhere
    noted: dict[str, _State] = json.loads(row[0] or "{}")
    now = _states(connection, publication)
    found = LogCoverage()
    for table in tables:
        before = noted.get(str(table))
        reason = _reason(before, now.get(table))
        if reason is not None:
            found.reasons[table] = reason
        elif before is not None and (changed := _replaced(before, now[table]) | _changed_types(before, now[table])):
            found.reasons[table] = next(iter(changed.values()))
            found.retyped[table] = _retyped(before, now[table])
        elif before is not None:
            found.remarks.extend(f"{table}: {remark}" for remark in _remarks(before, now[table]))
            if "numbers" not in before:
                _number(connection, publication, table, now[table])
    return found


def _number(connection: Any, publication: str, table: TableName, now: _State) -> None:
    """Completes what an earlier version recorded: the columns count as those that they are now."""
    if write_ahead_log.is_standby(connection):
        return
    with connection.transaction():
        noted = _noted_to_change(connection, publication)
        before = noted[str(table)]
        _note(
            connection, publication, {**noted, str(table): {**now, **before, "types": now["types"] | before["types"]}}
        )


def _states(connection: Any, publication: str) -> dict[TableName, _State]:
    return {
        TableName(schema, name): dict(zip(_FACTS, facts, strict=True))
        for schema, name, *facts in connection.execute(_TABLES, [publication]).fetchall()
    }


def _reason(before: _State | None, now: _State | None) -> str | None:
    if now is None or (before is not None and before["oid"] != now["oid"]):
        return "it was dropped, renamed or recreated"
    if before is None:
        return None
    if before.get("published", now["published"]) != now["published"]:
        return "its publication was altered, so changes may be missing from the log"
    for partition, (name, _) in before["partitions"].items():
        if partition not in now["partitions"]:
            return f"its partition {name} was detached or dropped"
    return None


def _retyped(before: _State, now: _State) -> Retyped:
    replaced = tuple(_replaced(before, now))
    columns = tuple(name for name in _changed_types(before, now) if name not in replaced)
    rewritten = before.get("file") != now["file"] or before["partitions"] != now["partitions"]
    state = {**_with_columns(before, now, (*replaced, *columns)), "file": now["file"], "partitions": now["partitions"]}
    return Retyped(columns, rewritten, json.dumps(state), replaced)


def _with_columns(before: _State, now: _State, columns: Sequence[str]) -> _State:
    """The recorded definition with these columns as they are now. Others stay new, or what they were."""
    known = {**now, **before}
    changed = {fact: known[fact] | {name: now[fact][name] for name in columns} for fact in ("types", "numbers")}
    return known | changed


def _replaced(before: _State, now: _State) -> dict[str, str]:
    """The names that are other columns now, and which: the log has the same name for both."""
    known = {number: name for name, number in before.get("numbers", {}).items()}
    found = {}
    for number, name in sorted((number, name) for name, number in now["numbers"].items()):
        if before.get("numbers", {}).get(name, number) != number:
            other = f"{known[number]}, which was renamed" if number in known else "another one of that name"
            found[name] = f"its column {name} was dropped or renamed, and is {other}, now"
    return found


def _changed_types(before: _State, now: _State) -> dict[str, str]:
    """The columns whose types have changed, and how."""
    found = {}
    for column, (kind, *numbers) in before["types"].items():
        # A dropped column is missing from the log, too. The name of a type depends on the search_path.
        shown, *known = now["types"].get(column, [kind, *numbers])
        if known != numbers:
            found[column] = f"its column {column} was {kind}, and is {shown} now"
    return found


def _remarks(before: _State, now: _State) -> Iterator[str]:
    for partition, (name, file) in now["partitions"].items():
        if partition not in before["partitions"]:
            yield f"it got a partition {name}; rows that the partition had before are not moved: verify"
        elif before["partitions"][partition][1] != file:
            yield f"its partition {name} was truncated or rewritten, which the log does not report: verify"
