"""Who installs Tieout gets what it imports: no less, and nothing that only the tests need."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

IMPORTED_AS = {"ruamel.yaml": "ruamel", "mysql-replication": "pymysqlreplication"}
NOT_BY_US = {"pandas": "Spark's Arrow path imports it"}
COMES_WITH = {"py4j": "pyspark", "pydantic_core": "pydantic", "cryptography": "pymysql[rsa]"}


def imported(folder: str) -> set[str]:
    """The packages of others that the code in a folder imports."""
    names: set[str] = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names.add(node.module)
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"tieout", "tests", "tools"}


def declared(requirements: list[str]) -> set[str]:
    names = (re.match(r"[\w.-]+", line) for line in requirements)
    return {IMPORTED_AS.get(name[0], name[0].replace("-", "_")) for name in names if name is not None}


RUNTIME = declared(PROJECT["dependencies"])
DEV = declared(PROJECT["optional-dependencies"]["dev"])
EXTRAS = declared([line for name, lines in PROJECT["optional-dependencies"].items() if name != "dev" for line in lines])
"""Of connectors that say which extra to install."""


def test_what_is_installed_is_imported() -> None:
    assert RUNTIME - imported("src") == set(NOT_BY_US), "what only tests import is a dev dependency"


def test_what_is_imported_is_installed() -> None:
    assert imported("src") - RUNTIME - EXTRAS - set(COMES_WITH) == set()
    assert imported("tests") - RUNTIME - EXTRAS - DEV - set(COMES_WITH) == set()


def test_nothing_is_of_both() -> None:
    assert set() == RUNTIME & DEV
