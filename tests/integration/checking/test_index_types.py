"""Values of each type are read from an index's pages as PostgresReader reads them from its table."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.checking.holding import held, holds, index_of
from tests.servers.postgres import Postgres
from tests.servers.server import Database
from tieout.codecs.postgres_pages.values import undecodable
from tieout.connectors.sql.connection_cache import kept_open

NUMBERS = [
    *("0", "0.0", "0.00", "1", "1.0", "1.00", "-1", "-1.5", "-0.5", "10000", "9999", "99990000", "12345.67", "5e3"),
    *("0.9999", "0.0001", "0.00010", "-0.00000001", "4e-4", "100000000.00000001", "1.00000000000000000000"),
    *("1e15", "1e16", "1234567890123456", "-9999999999999999", "12345678901234567", "123456789012345.6789"),
    *("1e-16", "1e-17", "0.1234567890123456", "0.12345678901234567", "1e-300", "1e300", "-1e1000"),
    *("99999999999999999999", "-12345678901234567890.123456789012345678901234567890", "NaN", "Infinity", "-Infinity"),
]

TYPES: dict[str, list[str]] = {
    "bool": ["true", "false"],
    "int2": ["0", "-1", "32767", "-32768"],
    "int4": ["0", "-1", "2147483647", "-2147483648"],
    "int8": ["0", "-1", "9223372036854775807", "-9223372036854775808"],
    "float4": ["0", "-0", "1.5", "NaN", "Infinity", "-Infinity", "1e-45", "3.4028235e38"],
    "float8": ["0", "-0", "0.1", "NaN", "Infinity", "-Infinity", "5e-324", "1.7976931348623157e308"],
    "numeric": NUMBERS,
    "numeric(12,2)": ["0", "1.10", "-1.1", "9999999999.99", "-0.01"],
    "date": ["2000-01-01", "1970-01-01", "4713-01-01 BC", "5874897-12-31"],
    "time": ["00:00", "24:00", "12:34:56.789012"],
    "timestamp": ["2000-01-01", "1969-12-31 23:59:59.999999", "4713-01-01 BC", "294276-12-31 23:59:59.999999"],
    "timestamptz": ["2000-01-01", "1969-12-31 23:59:59.999999+00", "4713-01-02 BC", "294276-12-31 23:59:59.999999+00"],
    "text": ["", "a", "a ", "ä", "😀", "x" * 126, "y" * 127, "é" * 200],
    "varchar(200)": ["", "a", "ä", "x" * 126, "z" * 200],
    "char(200)": ["", "a", " a", "ä  b", "x" * 199],
    "bpchar": ["a", "a  ", "b"],
    "name": ["", "a", "relation", "x" * 63],
    "bytea": ["", "\\x00", "\\x00ff", "\\x" + "00ff" * 300],
    "uuid": ["00000000-0000-0000-0000-000000000000", "01890a5d-ac96-774b-bcce-b302099a8057", "f" * 32],
    "oid": ["0", "1", "4294967295"],
    "mood": ["sad", "ok", "it's"],
    "small": ["1.50", "1.5", "-2"],
    "citext": ["a", "A", "ä"],
}

INFINITE = {"date": "2024-02-29", "timestamp": "2024-02-29 10:00:00.000001", "timestamptz": "2024-02-29 10:00:00+02"}

ALL = {
    "b": "bool",
    "l": "int8",
    "s": "int2",
    "t": "text",
    "d": "float8",
    "u": "uuid",
    "c": "bool",
    "day": "date",
    "n": "numeric",
    "z": "timestamptz",
    "p": "char(5)",
    "y": "bytea",
    "o": "oid",
    "m": "mood",
    "k": "name",
    "i": "int4",
    "f": "float4",
    "h": "time",
    "q": "small",
}


@pytest.mark.parametrize("type_name", TYPES)
def test_each_type_is_read_as_the_table_reads_it(db: Database, type_name: str) -> None:
    db.execute(f"CREATE TABLE t (v {type_name})")
    values = [*TYPES[type_name], None]
    db.executemany(f"INSERT INTO t VALUES (%s::{type_name})", [(v,) for v in values * 2])
    db.execute("CREATE INDEX i ON t (v); CREATE INDEX included ON t ((1)) INCLUDE (v)")
    assert undecodable(index_of(db, "i").attributes[0]) is None
    assert holds(db, "i").num_rows == len(values) * 2
    holds(db, "included")


@pytest.mark.parametrize("type_name", INFINITE)
def test_a_moment_that_is_infinite_is_text_as_from_the_table(db: Database, type_name: str) -> None:
    db.execute(f"CREATE TABLE t (v {type_name}); CREATE INDEX i ON t (v)")
    values = ["infinity", "-infinity", INFINITE[type_name], None]
    db.executemany(f"INSERT INTO t VALUES (%s::{type_name})", [(v,) for v in values])
    assert "infinity" in holds(db).column("v").to_pylist()


def test_values_of_all_types_side_by_side_with_gaps_and_nulls(db: Database) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in ALL.items())
    db.execute(f"CREATE TABLE t ({columns})")
    rng = np.random.default_rng(7)
    db.executemany(f"INSERT INTO t VALUES ({', '.join('%s' for _ in ALL)})", [_row(rng) for _ in range(400)])
    forwards, backwards = ", ".join(ALL), ", ".join(reversed(ALL))
    db.execute(f"CREATE INDEX i ON t ({forwards}); CREATE INDEX j ON t ({backwards})")
    db.execute(f"CREATE INDEX k ON t (s, t) INCLUDE ({', '.join(c for c in ALL if c not in 'st')})")
    for index in ("i", "j", "k"):
        assert holds(db, index).num_rows == 400


def _row(rng: np.random.Generator) -> list[str | None]:
    """Values of each type, a third of them NULL; none of those that are too long for one tuple together."""
    row = []
    for kind in ALL.values():
        values = [v for v in TYPES.get(kind, ["", "a", "ab", "abc d"]) if len(v) < 40]
        row.append(None if rng.integers(3) == 0 else values[rng.integers(len(values))])
    return row


def test_values_that_are_equal_and_not_the_same_keep_apart(db: Database) -> None:
    db.execute("""
        CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE t (n numeric, f float8, c citext, x text COLLATE any_case);
        INSERT INTO t SELECT (ARRAY['1', '1.0', '1.00'])[1 + i % 3]::numeric, (ARRAY['0', '-0'])[1 + i % 2]::float8,
          (ARRAY['a', 'A'])[1 + i % 2], (ARRAY['b', 'B'])[1 + i % 2] FROM generate_series(1, 3000) i;
        CREATE INDEX n ON t (n); CREATE INDEX f ON t (f); CREATE INDEX c ON t (c); CREATE INDEX x ON t (x)""")
    for index in "nfcx":
        holds(db, index)
    assert set(held(db, "n").column("n").to_pylist()) == {"1", "1.0", "1.00"}
    assert set(held(db, "x").column("x").to_pylist()) == {"b", "B"}


def test_what_is_not_decoded_is_said_and_the_rest_is_read(db: Database) -> None:
    db.execute("""
        CREATE TYPE pair AS (a int, b int); CREATE TYPE text_range AS RANGE (subtype = text);
        CREATE TABLE t (a int4[], b inet, c jsonb, d interval, e timetz, f bit(3), g money, h pair, i text_range,
          j "char", v int4);
        INSERT INTO t VALUES ('{1,NULL}', '::1', '{"a": 1}', '1 month', '10:00+02', '101', 1, '(1,2)', '[a,b)', 'x', 7),
          (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 8);
        CREATE INDEX i ON t (a, b, c, d, e, f, g, h, i, j, v); CREATE INDEX alone ON t (a)""")
    reasons = {a.native: undecodable(a) for a in index_of(db, "i").attributes}
    assert reasons.pop("integer") is None
    assert len(reasons) == 10
    for native, reason in reasons.items():
        assert reason == f"values of type {native} are not decoded"
    assert held(db, "i").column("v").to_pylist() == [7, 8]
    assert held(db, "alone").to_pydict() == {"address": [1, 2]}


def test_text_of_another_encoding_is_not_decoded(postgres: Postgres) -> None:
    for encoding, reason in (("LATIN1", "its text is stored in LATIN1"), ("SQL_ASCII", None)):
        name = f"t_{encoding.lower()}"
        postgres.execute(None, f"CREATE DATABASE {name} ENCODING {encoding} LOCALE 'C' TEMPLATE template0")
        try:
            db = Database(postgres, name)
            db.execute("CREATE EXTENSION pageinspect; CREATE TABLE t (v text, n int); CREATE INDEX i ON t (v, n)")
            db.execute("INSERT INTO t VALUES ('naive', 1)")
            assert [undecodable(a) for a in index_of(db, "i").attributes] == [reason, None]
            assert held(db, "i").column("n").to_pylist() == [1]
        finally:
            postgres.drop_database(name)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=150)
NUMBER = st.decimals(allow_nan=False, allow_infinity=False).filter(lambda number: abs(number.adjusted()) < 500)
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-32768, 32767),
        st.none() | TEXT | st.builds(lambda text, times: text[:20] * times, TEXT, st.integers(1, 30)),
        st.none() | st.booleans(),
        st.none() | NUMBER | st.just(Decimal("NaN")),
        st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
    ),
    min_size=1,
    max_size=30,
)


def test_rows_of_chance(db: Database) -> None:
    db.execute("CREATE TABLE t (a int2, b text, c bool, d numeric, e int8)")
    db.execute("CREATE INDEX i ON t (a, b, c, d, e); CREATE INDEX j ON t (c, d) INCLUDE (b, e, a)")

    @settings(max_examples=25)
    @given(ROWS)
    def check(rows: list[Any]) -> None:
        db.execute("TRUNCATE t")
        db.executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s)", rows)
        assert holds(db, "i").num_rows == holds(db, "j").num_rows == len(rows)

    with kept_open():
        check()
