"""A guard: only the modules named quoting.py put quotes around what is put into SQL.

Looked for in the source: a quote right beside an interpolated value, quotes that are doubled by hand, dollar quotes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tieout

ROOT = Path(tieout.__file__).parent
ROOMS = ("checks", "codecs", "connectors", "meta", "move", "repair", "runtime", "spark", "tasks", "verification")
QUOTES = ("'", '"', "`", "$")
DOUBLED = {("'", "''"), ('"', '""'), ("`", "``"), ("%", "%%")}

QUOTING = {
    # The modules that do it.
    *(f"connectors/{engine}/quoting.py" for engine in ("debezium", "duckdb", "mysql", "postgres", "sqlite")),
    "connectors/sql/placeholders.py",
    "connectors/mysql/show_create.py",
    "spark/frames/values.py",
    # No SQL: Python that is generated, patterns, options of Java, what is told of a wrong
    # CHECK statement.
    "connectors/mysql/binlog/charset_codec.py",
    "connectors/mysql/binlog/column_forms.py",
    "connectors/sql/ddl.py",
    "checks/language.py",
    "spark/session.py",
}
WORDS = ("replication slot", "tell their rows apart", "--exclude-columns", "pip install", "tieout check", "{shard")
"""Of messages that people read."""


def files() -> list[Path]:
    found = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    return sorted(path for path in found if str(path.relative_to(ROOT)) not in QUOTING)


def by_hand(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of whatever looks like quoting."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            found = _beside_quotes(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            found = any(_ends_in_quote(side) for side in (node.left, node.right))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found = _doubles(node) if node.func.attr == "replace" else _formats(node)
        else:
            found = isinstance(node, ast.Constant) and isinstance(node.value, str) and _has_dollar_quotes(node.value)
        if found and not any(word in ast.unparse(node) for word in WORDS):
            yield node.lineno, ast.unparse(node)


def _beside_quotes(node: ast.JoinedStr) -> bool:
    for place, part in enumerate(node.values):
        if not isinstance(part, ast.FormattedValue) or _is_number(part) or _is_constant(part.value):
            continue
        before, behind = (_text(node, place + step) for step in (-1, 1))
        if before.endswith(QUOTES) or behind.startswith(QUOTES):
            return True
    return False


def _text(node: ast.JoinedStr, place: int) -> str:
    part = node.values[place] if 0 <= place < len(node.values) else None
    return str(part.value) if isinstance(part, ast.Constant) else ""


def _is_number(part: ast.FormattedValue) -> bool:
    """{x:d} and {x:f} hold digits, or raise."""
    spec = part.format_spec
    return isinstance(spec, ast.JoinedStr) and ast.unparse(spec).rstrip("\"'").endswith(("d", "f"))


def _is_constant(value: ast.expr) -> bool:
    """A name in capitals is a text of ours; so is what a loop takes from one."""
    return isinstance(value, ast.Name) and value.id.isupper()


def _ends_in_quote(side: ast.expr) -> bool:
    text = side.value if isinstance(side, ast.Constant) else None
    return isinstance(text, str) and bool(text) and (text.endswith(QUOTES) or text.startswith(QUOTES))


def _doubles(node: ast.Call) -> bool:
    texts = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
    return len(texts) == 2 and (texts[0], texts[1]) in DOUBLED


def _formats(node: ast.Call) -> bool:
    assert isinstance(node.func, ast.Attribute)
    text = node.func.value.value if isinstance(node.func.value, ast.Constant) else ""
    return node.func.attr == "format" and any(f"{q}{{" in str(text) or f"}}{q}" in str(text) for q in QUOTES)


def _has_dollar_quotes(text: str) -> bool:
    return "$$" in text or "$tieout$" in text


def test_what_is_looked_at_and_what_is_left_out_is_there() -> None:
    """Files and rooms are renamed: a name that is none any more would leave nothing to look at."""
    assert [room for room in ROOMS if not (ROOT / room).is_dir()] == []
    assert [path for path in QUOTING if not (ROOT / path).is_file()] == []


def test_sql_is_quoted_in_the_quoting_modules_alone() -> None:
    found = [f"{path.relative_to(ROOT)}:{line}: {text}" for path in files() for line, text in by_hand(path.read_text())]
    assert not found, "put it through the engine's quoting.py:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        """f"SELECT setval('{name}', 1)\"""",
        """f'CREATE TABLE "{name}" (a int)'""",
        """f"SELECT * FROM `{name}`\"""",
        """f"DO $tieout$ BEGIN {statement}; END $tieout$\"""",
        """"SELECT '" + text + "'\"""",
        """"SELECT '%s'" % text""",
        """"SELECT '{}'".format(text)""",
        """text.replace("'", "''")""",
        """text.replace("%", "%%")""",
        '''"DO $$ BEGIN END $$"''',
    ],
)
def test_the_guard_sees_what_is_quoted_by_hand(source: str) -> None:
    assert list(by_hand(source))


@pytest.mark.parametrize("source", ['''f"SELECT {quoting.text(name)}"''', '''f"x = '{KNOWN}'"''', '''f"'{place:d}'"'''])
def test_the_guard_lets_other_sql_pass(source: str) -> None:
    assert not list(by_hand(source))
