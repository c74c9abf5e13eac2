"""The language of CHECK statements, and of the SCRUB and INSPECT forms that people know from elsewhere."""

from __future__ import annotations

GRAMMAR = r"""
start: statement ";"?
?statement: check_tables | check_database | scrub_table | scrub_database | inspect_table | inspect_database

check_tables: _CHECK _TABLE tables [what] [changed] [as_of]
check_database: _CHECK _DATABASE name [validity] [changed] [as_of]
?what: indexes | constraints | validity
indexes: _INDEX names
constraints: _CONSTRAINT names
validity: _VALIDITY
changed: _CHANGED
as_of: _AS _OF [_SYSTEM _TIME] moment

scrub_table: _EXPERIMENTAL _SCRUB _TABLE table [as_of] [_WITH _OPTIONS scrub_options]
scrub_database: _EXPERIMENTAL _SCRUB _DATABASE name [as_of]
scrub_options: scrub_option ("," scrub_option)*
?scrub_option: index_option | constraint_option | physical
index_option: _INDEX (all | "(" names ")")
constraint_option: _CONSTRAINT (all | "(" names ")")
physical: _PHYSICAL

inspect_table: _INSPECT _TABLE table [as_of] [_WITH _OPTIONS inspect_options]
inspect_database: _INSPECT _DATABASE name [as_of] [_WITH _OPTIONS inspect_options]
inspect_options: inspect_option ("," inspect_option)*
?inspect_option: index_option | detached
detached: _DETACHED

all: _ALL
tables: table ("," table)*
table: name ["." name]
names: name ("," name)*
name: WORD | DOUBLE_QUOTED | BACK_QUOTED
moment: STRING | NUMBER

_ALL.2: /ALL(?![\w$])/i
_AS.2: /AS(?![\w$])/i
_CHANGED.2: /CHANGED(?![\w$])/i
_CHECK.2: /CHECK(?![\w$])/i
_CONSTRAINT.2: /CONSTRAINT(?![\w$])/i
_DATABASE.2: /DATABASE(?![\w$])/i
_DETACHED.2: /DETACHED(?![\w$])/i
_EXPERIMENTAL.2: /EXPERIMENTAL(?![\w$])/i
_INDEX.2: /INDEX(?![\w$])/i
_INSPECT.2: /INSPECT(?![\w$])/i
_OF.2: /OF(?![\w$])/i
_OPTIONS.2: /OPTIONS(?![\w$])/i
_PHYSICAL.2: /PHYSICAL(?![\w$])/i
_SCRUB.2: /SCRUB(?![\w$])/i
_SYSTEM.2: /SYSTEM(?![\w$])/i
_TABLE.2: /TABLE(?![\w$])/i
_TIME.2: /TIME(?![\w$])/i
_VALIDITY.2: /VALIDITY(?![\w$])/i
_WITH.2: /WITH(?![\w$])/i

WORD: /[^\W\d][\w$]*/
DOUBLE_QUOTED: /"(?:[^"]|"")+"/
BACK_QUOTED: /`(?:[^`]|``)+`/
STRING: /'(?:[^']|'')*'/
NUMBER: /-?\d+(?:\.\d+)?/

%import common.WS
%ignore WS
%ignore /--[^\n]*/
%ignore /\/\*(?:[^*]|\*(?!\/))*\*\//
"""

WORDS = {
    "WORD": "a name",
    "DOUBLE_QUOTED": "a name",
    "BACK_QUOTED": "a name",
    "STRING": "a moment in quotes",
    "NUMBER": "a moment in quotes",
    "COMMA": '","',
    "DOT": '"."',
    "LPAR": '"("',
    "RPAR": '")"',
    "SEMICOLON": "the end",
    "$END": "the end",
}
"""How the grammar's terminals are called in messages; a keyword is called as it is written."""
