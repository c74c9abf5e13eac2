"""A column of every type, and values that have more than one way to be written."""

from __future__ import annotations

PREPARED = """
CREATE TYPE mood AS ENUM ('sad', 'it''s "ok"');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
"""

COLUMNS: dict[str, tuple[str, ...]] = {
    "boolean": ("true", "false"),
    "smallint": ("-32768",),
    "integer": ("2147483647",),
    "bigint": ("-9223372036854775808",),
    "numeric": ("1.10", "-0.00001", "NaN", "Infinity", "1e100", "123456789012345678901234567890.123456789"),
    "numeric(10,3)": ("1.5",),
    "real": ("0.1", "1e-45", "NaN", "-Infinity", "-0"),
    "double precision": ("0.1", "1e308", "5e-324", "0.30000000000000004", "-0", "Infinity"),
    "money": ("-1234567.89",),
    "text": ("", "é 日本語 😀", "tab\tline\nend\\", "NULL", "'\"`"),
    "varchar(20)": ("trailing  ",),
    "char(5)": ("ab", "", "é"),
    '"char"': ("x",),
    "name": ("a name",),
    "bytea": ("\\x00ff27", "\\x"),
    "date": ("2024-02-29", "0044-03-15 BC", "infinity", "5874897-12-31"),
    "time": ("24:00:00", "12:34:56.123456"),
    "timetz": ("12:34:56.789+05:30",),
    "timestamp": ("2024-02-29 12:34:56.123456", "-infinity", "294276-12-31 23:59:59.999999", "0001-01-01 BC"),
    "timestamptz": ("2024-07-01 12:00:00+05:30", "infinity", "0001-01-01 00:00:00+00 BC"),
    "interval": ("1 year -2 mons 3 days -04:05:06.7", "0", "-1 day"),
    "uuid": ("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",),
    "json": ('{"b": 1.10,  "a": null}',),
    "jsonb": ('{"b": 1.10,  "a": "\\u00e9"}',),
    "jsonpath": ("$.a[*] ? (@ > 1)",),
    "inet": ("127.0.0.1", "10.0.0.1/8", "::1"),
    "cidr": ("10.0.0.0/8",),
    "macaddr": ("08-00-2b-01-02-03",),
    "macaddr8": ("08-00-2b-01-02-03-04-05",),
    "bit(3)": ("101",),
    "varbit": ("", "10101"),
    "point": ("(0.1,1e300)",),
    "line": ("{1,2,3}",),
    "lseg": ("[(1,2),(3,4)]",),
    "box": ("(3,4),(1,2)",),
    "path": ("[(1,2),(3,4)]", "((1,2),(3,4))"),
    "polygon": ("((1,2),(3,4))",),
    "circle": ("<(1,2),3>",),
    "tsvector": ("'a':1 'fat cat':2",),
    "tsquery": ("'a' & !'b'",),
    "pg_lsn": ("16/B374D848",),
    "pg_snapshot": ("10:20:10,14",),
    "xid8": ("18446744073709551615",),
    "oid": ("4294967295",),
    "regclass": ("pg_class",),
    "integer[]": ("{1,NULL,3}", "[0:1]={1,2}", "{}"),
    "text[]": ('{{"a,b","c\\"d"},{NULL,"null"}}',),
    "boolean[]": ("{t,f,NULL}",),
    "timestamptz[]": ('{"2024-07-01 12:00:00+05:30"}',),
    "int4range": ("[1,5]", "empty", "(,)"),
    "tstzrange": ('["2024-07-01 12:00:00+05:30",)',),
    "int4multirange": ("{[1,2],[5,6]}",),
    "mood": ("sad", 'it\'s "ok"'),
    "pair": ('(1,"a, ""b""")', "(,)"),
    "pair[]": ('{"(1,a)"}',),
    "positive": ("7",),
}

OTHER_AS_TEXT = {"boolean", "char(5)", "inet"}
"""Types whose cast to text differs from what they print as: true, no padding, a mask."""
