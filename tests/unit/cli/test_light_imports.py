"""A command that needs no Spark does not wait for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("pyspark", "polars", "pyarrow", "pandas", "numpy")
PROGRAM = """
import sys
from tieout.cli.main import main
code = main(sys.argv[1:])
print("loaded:", *[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def loaded(heavy: tuple[str, ...], words: tuple[str, ...], directory: Path) -> str:
    program = PROGRAM.format(heavy=heavy)
    ended = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=directory, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "words", [("--help",), ("verify", "--help"), ("version",), ("init",), ("jobs", "list"), ("status",)], ids=" ".join
)
def test_nothing_heavy_is_loaded(words: tuple[str, ...], tmp_path: Path):
    assert loaded(HEAVY, words, tmp_path) == "loaded:"


def test_a_look_at_what_would_be_done_needs_no_spark(tmp_path: Path, sqlite_db):
    sides = []
    for name in ("source", "target"):
        database = sqlite_db(name)
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        sides += [f"--{name}", database.url]
    assert loaded(("pyspark",), ("verify", *sides, "--explain"), tmp_path) == "loaded:"
    assert loaded(("pyspark",), ("preflight", *sides), tmp_path) == "loaded:"


def test_nothing_slow_is_loaded_to_say_a_version(tmp_path: Path):
    program = PROGRAM.format(heavy=("sqlalchemy", "alembic", "ruamel.yaml", "jinja2", "sqlglot"))
    ended = subprocess.run(
        [sys.executable, "-c", program, "version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stderr.splitlines()[-1] == "loaded:"
