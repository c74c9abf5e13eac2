"""Names that want to be more than names."""

from __future__ import annotations

import unicodedata
from random import Random

WANTED = "pwned"
"""What an attack would leave behind: a table, a schema, a role of that name."""

ATTACKS = [
    "$tieout$||null,''),1);CREATE TABLE pwned()--",
    "$tieout$;CREATE TABLE pwned(a int);--",
    "$$;CREATE TABLE pwned(a int);$$",
    "');CREATE TABLE pwned(a int);--",
    '");CREATE TABLE pwned(a int);--',
    "`);CREATE TABLE pwned(a int);-- ",
    "\\');CREATE TABLE pwned(a int);#",
    "''||(SELECT 1)||''",
    '"."',
    "`.`",
    "x' OR '1'='1",
    "a;DROP TABLE pwned;--",
    "/*!50000 DROP TABLE pwned */",
    "/*M! x */ -- y",
    "*/ ; CREATE TABLE pwned(a int); /*",
    ") ENGINE=InnoDB\n) -- ",
    "a\n, b int\n",
    "line\r\nend\u2028x",
    "tab\there",
    "%s %(x)s %% %d",
    "%",
    "%s",
    "{0} {} {x} {{",
    "?",
    ":name",
    "$1",
    "@v0",
    "\\",
    "\\\\'",
    "back\\slash",
    "\\N",
    "'",
    '"',
    "`",
    "''''",
    '""""',
    "a.b",
    ".",
    "..",
    "*",
    "[x]",
    "dot.ted.name",
    "select",
    "SELECT",
    "table",
    "Order",
    "user",
    "key",
    "value",
    "VALUE",
    "c",
    "p",
    "n",
    "s",
    "t",
    "k",
    "b",
    "found",
    "number",
    "place",
    "copies",
    "old0",
    "new0",
    "place x",
    "PRIMARY KEY",
    "false",
    "null",
    "NULL",
    "true",
    "0",
    "1e5",
    "-1",
    "--",
    "#",
    "/*",
    "*/",
    ";",
    "()",
    "(",
    ")",
    ",",
    "=",
    " leading",
    "two  spaces",
    "ünïcödé",
    "名前",
    "а",  # Cyrillic
    "ａ",
    "\u202egnp",
    "zero\u200bwidth",
    "e\u0301",
    "\x01\x02\x1f\x7f",
    "quote ident \\x27",
    " FOREIGN KEY (a) REFERENCES p(",
    " REFERENCES public.x(",
    " DEFAULT 0",
    " NOT NULL",
    " ON ONLY x USING ",
    "AUTO_INCREMENT",
    " COMMENT 'x'",
    "tieout",
    "_tieout",
    "information_schema",
    "pg_catalog.x",
]
LETTERS = "'\"`$%\\;-#/*(){}[]<>=,.:!?@&|~^ \n\tabAB01_éß名"


def names(random: Random, count: int, *, most_bytes: int = 60) -> list[str]:
    """So many, no two of which any engine takes for the same. The attacks first, then whatever letters make."""
    found: dict[str, str] = {}
    chosen = [*ATTACKS[:2], *random.sample(ATTACKS[2:], len(ATTACKS) - 2)]
    while len(found) < count:
        name = chosen.pop(0) if chosen else _made_up(random)
        name = _cut(name, most_bytes).rstrip()  # which MariaDB takes of nothing
        if name:
            found.setdefault(_folded(name), name)
    return list(found.values())


def _made_up(random: Random) -> str:
    parts = [
        random.choice(ATTACKS),
        "".join(random.choices(LETTERS, k=random.randrange(1, 20))),
        random.choice(ATTACKS),
    ]
    return "".join(random.sample(parts, random.randrange(1, 4)))


def _cut(name: str, most: int) -> str:
    # A letter of a name may take five of the 255 bytes that MariaDB has for a file's.
    while len(name.encode()) > most or len(name) > 45:
        name = name[:-1]
    return name


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).strip()
