"""Stored tables as the databases themselves show them: those of a meta store, and what a move leaves on both sides.

Between them the three moves have each engine as a source and as a target.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tools.golden_parts.running import Workplace, workplace
from tools.golden_parts.shop import CHANGES, Servers, change, configuration, fill, servers, sqlite_file

if TYPE_CHECKING:
    from tests.servers.server import Database
    from tools.golden_parts.shop import AnyDatabase

_PG_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
       a.attidentity, a.attgenerated, CASE WHEN a.attcollation <> t.typcollation THEN a.attcollation::regcollation END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_PG_TABLES = """
SELECT n.nspname, c.relname, c.relpersistence, c.relreplident
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY n.nspname, c.relname
"""
_PG_LEFT = """
SELECT 'slot ' || slot_name || ' of ' || plugin || CASE WHEN temporary THEN ', temporary' ELSE '' END
FROM pg_replication_slots WHERE database = current_database()
UNION ALL SELECT 'publication ' || p.pubname || ' of ' || string_agg(t.tablename, ', ' ORDER BY t.tablename)
FROM pg_publication p LEFT JOIN pg_publication_tables t ON t.pubname = p.pubname GROUP BY p.pubname
UNION ALL SELECT 'trigger ' || tgname || ': ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
ORDER BY 1
"""


def record_meta() -> str:
    """A meta store on SQLite."""
    with workplace() as place:
        ended = place.call("jobs", "list", "--meta", f"sqlite:///{place.directory}/meta.db")
        assert ended.code == 0, ended.err
        return sqlite_ddl(place.directory / "meta.db")


def record() -> str:
    with servers() as both, workplace(both.known()) as place:
        _meta_stores(place, both)
        _moved(place, sqlite_file(place.directory, "source"), sqlite_file(place.directory, "target"))
        pairs = ((both.mariadb, both.postgres), (both.postgres, both.mariadb))
        for one, other in pairs:
            with both.database(one, "shop_old") as source, both.database(other, "shop_new") as target:
                _moved(place, source, target)
        return place.text()


def _meta_stores(place: Workplace, both: Servers) -> None:
    for server in (both.mariadb, both.postgres):
        with both.database(server, "meta") as database:
            place.title(f"meta store on {server.scheme}")
            ended = place.call("jobs", "list", "--meta", database.url)
            assert ended.code == 0, ended.err
            place.lines.append(_shown(place, database))


def _moved(place: Workplace, source: AnyDatabase, target: AnyDatabase) -> None:
    """Copies, follows some changes, and shows both sides."""
    schemes = [side.url.partition(":")[0] for side in (source, target)]
    fill(source)
    (place.directory / "tieout.yaml").write_text(configuration(source.url, target.url))
    store = f"sqlite:///{place.directory}/{'-'.join(schemes)}.db"
    for statements in ((), CHANGES):
        change(source, statements)
        ended = place.call("run", "shop", "--until-caught-up", "--quiet", "--meta", store)
        assert ended.code == 0, ended.err
    for title, side in zip(("source", "target"), (source, target), strict=True):
        place.title(f"{title} of a move from {schemes[0]} to {schemes[1]}")
        place.lines.append(_shown(place, side))


def _shown(place: Workplace, database: AnyDatabase | Database) -> str:
    from tests.servers.sqlite import SqliteDatabase

    if isinstance(database, SqliteDatabase):
        return place.normaliser.text(sqlite_ddl(database.path))
    return place.normaliser.text((mariadb_ddl if database.server.scheme == "mysql" else postgres_ddl)(database))


def sqlite_ddl(path: Path) -> str:
    """Tables, indexes and triggers of a file, in the words in which they were made."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY tbl_name, type DESC, name"
        )
        return "\n".join(f"-- {kind} {name}\n{_trimmed(sql)};\n" for kind, name, sql in found)


def mariadb_ddl(database: Database) -> str:
    """SHOW CREATE of each table, without how far AUTO_INCREMENT has come; then views by name, and the triggers."""
    sections = []
    for name, kind in sorted(database.rows("SHOW FULL TABLES")):
        if kind == "VIEW":
            sections.append(f"-- view {name}\n")
            continue
        ((_, sql),) = database.rows(f"SHOW CREATE TABLE `{name}`")
        sections.append(f"-- table {name}\n{_trimmed(re.sub(r' AUTO_INCREMENT=[0-9]+', '', sql))};\n")
    for name, *_ in sorted(database.rows("SHOW TRIGGERS")):
        sections.append(f"-- trigger {name}\n")
    return "\n".join(sections)


def postgres_ddl(database: Database) -> str:
    """Columns, constraints and indexes of each table, as the catalog tells; then slots, publications and triggers."""
    sections = []
    for schema, name, persistence, identity in database.rows(_PG_TABLES):
        place = f'"{schema}"."{name}"'
        lines = [f"-- table {schema}.{name} (persistence {persistence}, replica identity {identity})"]
        for column, of, not_null, default, identity, generated, collation in database.rows(_PG_COLUMNS, place):
            words = [f"  {column} {of}", "NOT NULL" if not_null else ""]
            words += [f"{'GENERATED' if generated else 'DEFAULT'} {default}" if default else ""]
            words += [f"IDENTITY {identity}" if identity else "", f"COLLATE {collation}" if collation else ""]
            lines.append(" ".join(word for word in words if word))
        lines += [
            f"  CONSTRAINT {constraint} {definition}"
            for constraint, definition in database.rows(
                "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
                "WHERE conrelid = %s::regclass AND contype <> 'n' ORDER BY conname",
                place,
            )
        ]
        lines += [
            f"  {definition}"
            for (definition,) in database.rows(
                "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass ORDER BY 1", place
            )
        ]
        sections.append("\n".join(lines) + "\n")
    left = [line for (line,) in database.rows(_PG_LEFT)]
    return "\n".join(sections) + "".join(f"\n-- {line}\n" for line in left)


def _trimmed(sql: str) -> str:
    return "\n".join(line.rstrip() for line in sql.strip().splitlines())
