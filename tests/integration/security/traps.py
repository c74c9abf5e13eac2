"""What a user without rights can do who may create functions in a schema that is on everybody's search_path.

A function whose types fit better than those of the server's own is called instead of it, by whoever calls it without a
schema. So each function of the server that our source names is made once more in `public`, for other types that its
arguments may have; and so are operators, for pairs of types that the server has none for.
"""

from __future__ import annotations

import ast
import re
from itertools import product
from pathlib import Path
from typing import Any

import psycopg

import tieout
from tests.servers.server import Database

MALLORY, PASSWORD = "mallory", "m"
SOURCES = ("connectors", "meta")
CALLED = re.compile(r"\b([a-z_][a-z0-9_]+)\(")

# What fits better than the type that the server's own function takes.
BETTER = {
    "text": ["character varying", "name"],
    "name": ["text", "character varying"],
    "oid": ["regclass", "bigint"],
    "regclass": ["oid", "text"],
    "bigint": ["integer", "numeric"],
    "integer": ["smallint"],
    "numeric": ["integer", "bigint"],
    '"any"': ["text", "name", "integer", "oid", "bigint"],
    "anyelement": ["text", "name", "integer", "bigint", "character varying"],
    "anynonarray": ["text", "name", "oid"],
    "anyarray": ["text[]", "name[]", "oid[]", "smallint[]", "int2vector", "oidvector", "bigint[]"],
}
NOBODYS = {*BETTER} - {"text", "name", "oid", "regclass", "bigint", "integer", "numeric"}
NOBODYS |= {"anyrange", "anyenum", "anycompatible", "anycompatiblearray", "cstring", "internal", "record"}
"""Types that a function in PL/pgSQL does not take, or takes anything for."""
COMPARED = ["text", "name", "character varying", '"char"', "oid", "regclass", "regtype", "regnamespace", "integer"]
COMPARED += ["bigint", "numeric", "smallint", "text[]", "character varying[]", "smallint[]", "mood", "cidr"]
SIGNS = ["=", "<>", "<", "<=", ">", ">=", "||", "~", "!~", "~~", "+", "-"]

# Of a session that only reads, no more can be had than that it is counted.
BODY = "BEGIN BEGIN ALTER ROLE mallory SUPERUSER; EXCEPTION WHEN OTHERS THEN NULL; END; RETURN NULL; END"

FUNCTIONS = """
SELECT p.proname, format_type(p.prorettype, NULL),
  (SELECT array_agg(format_type(a.t, NULL) ORDER BY a.n) FROM unnest(p.proargtypes) WITH ORDINALITY AS a(t, n))
FROM pg_catalog.pg_proc p
WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind <> 'p' AND p.pronargs BETWEEN 1 AND 4
  AND NOT p.proretset AND p.provariadic = 0 AND p.proname = ANY(%s)"""
OPERATORS = """
SELECT oprname, format_type(oprleft, NULL), format_type(oprright, NULL) FROM pg_catalog.pg_operator
WHERE oprnamespace = 'pg_catalog'::regnamespace"""


def named_in_source() -> list[str]:
    """Words that stand before a parenthesis in texts of our source: functions of SQL among them."""
    root, found = Path(tieout.__file__).parent, set()
    for path in [each for room in SOURCES for each in (root / room).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(CALLED.findall(node.value))
    return sorted(found - {"format"})  # which takes whatever it is given


def set_traps(database: Database) -> int:
    """How many there are. Each is counted by the server when it is called, and makes mallory a superuser."""
    database.execute(f"ALTER DATABASE \"{database.name}\" SET track_functions = 'all'")
    if not database.rows("SELECT 1 FROM pg_roles WHERE rolname = 'mallory'"):
        database.execute(f"CREATE ROLE {MALLORY} LOGIN PASSWORD '{PASSWORD}'")
    database.execute(f"ALTER ROLE {MALLORY} NOSUPERUSER")
    database.execute(f"GRANT CREATE, USAGE ON SCHEMA public TO {MALLORY}")
    with database.connect() as connection:
        known = connection.execute(FUNCTIONS, [named_in_source()]).fetchall()
        pairs = {*product(SIGNS, COMPARED, COMPARED)} - {*connection.execute(OPERATORS).fetchall()}
    traps = {(name, types): returns for name, returns, own in known for types in _variants(own)}
    statements = [_function(name, returns, types) for (name, types), returns in traps.items()]
    statements += [each for pair in sorted(pairs) for each in _operator(*pair)]
    with _as_mallory(database) as connection:
        for start in range(0, len(statements), 500):
            connection.execute(";".join(statements[start : start + 500]))
    return len(statements)


def watch(database: Database) -> None:
    """Has the server count calls of functions, those of sessions that only read among them."""
    database.execute(f"ALTER DATABASE \"{database.name}\" SET track_functions = 'all'")


def sprung(database: Database) -> list[str]:
    """The traps that were called by anybody since they were set."""
    with database.connect() as connection:
        connection.execute("SET search_path = pg_catalog")
        found = connection.execute(
            "SELECT DISTINCT funcname FROM pg_stat_user_functions f JOIN pg_proc p ON p.oid = f.funcid "
            "WHERE f.calls > 0 AND pg_get_userbyid(p.proowner) = 'mallory' ORDER BY 1"
        ).fetchall()
    return [name for (name,) in found]


def is_superuser(database: Database) -> bool:
    with database.connect() as connection:
        connection.execute("SET search_path = pg_catalog")
        row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'").fetchone()
    assert row is not None
    return bool(row[0])


def _as_mallory(database: Database) -> psycopg.Connection[Any]:
    server = database.server
    return psycopg.connect(
        host=server.host, port=server.port, user=MALLORY, password=PASSWORD, dbname=database.name, autocommit=True
    )


def _variants(types: list[str]) -> list[tuple[str, ...]]:
    """One argument of another type, or all of them."""
    choices = [BETTER.get(each, []) for each in types]
    alone = [(*types[:place], other, *types[place + 1 :]) for place, others in enumerate(choices) for other in others]
    together = [tuple(others[0] if others else each for each, others in zip(types, choices, strict=True))]
    found = dict.fromkeys([*alone, *together])
    return [each for each in found if each != tuple(types) and not any(part in NOBODYS for part in each)]


def _function(name: str, returns: str, types: tuple[str, ...]) -> str:
    result = "text" if returns.startswith(("any", '"any', "internal", "void", "record", "cstring")) else returns
    head = f'CREATE OR REPLACE FUNCTION public."{name}"({", ".join(types)}) RETURNS {result}'
    return f"{head} LANGUAGE plpgsql AS $${BODY}$$"


def _operator(sign: str, left: str, right: str) -> list[str]:
    result = "text" if sign in ("||", "+", "-") else "boolean"
    name = f'public."trap {sign} {left} {right}"'.replace('"char"', "char")
    return [
        f"CREATE FUNCTION {name}({left}, {right}) RETURNS {result} LANGUAGE plpgsql AS $${BODY}$$",
        f"CREATE OPERATOR public.{sign} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = {name})",
    ]
