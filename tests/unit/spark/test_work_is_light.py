"""What Spark's Python processes load to do our work: nothing of the meta store, the command line or the terminal."""

from __future__ import annotations

import ast
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import tieout
import tieout.connectors

HOME = Path(tieout.__file__).parent
ROOMS = ("spark", "runtime", "verification", "checks", "move")
"""Those that give work to executors."""
HEAVY = ("sqlalchemy", "alembic", "typer", "rich")
ON_THE_DRIVER = {"DriverWork"}
"""Work of which the session makes jobs of its own: it is never sent."""
PROGRAM = """
import os, pickle, sys
import pandas, pyarrow, pyspark.sql  # as Spark's own daemon has them, before it makes a process for a task
for payload in pickle.load(sys.stdin.buffer):
    if os.fork() == 0:
        what = pickle.loads(payload)
        print(type(what).__qualname__, *[name for name in {heavy!r} if name in sys.modules], flush=True)
        os._exit(0)
    if os.wait()[1] != 0:
        sys.exit("it could not be unpickled")
"""


def kinds_of_work() -> dict[str, str]:
    """Every class that is sent to executors: its name, and the module that it is in.

    Either of work.Work, `run(self) -> Iterator[…]`; or what map_batches takes, with `batches` besides; or
    stream.Following, whose `work` is of a part of a log.
    """
    found = {}
    for room in ROOMS:
        for file in sorted((HOME / room).rglob("*.py")):
            module = "tieout." + ".".join(file.relative_to(HOME).with_suffix("").parts)
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and node.name not in ON_THE_DRIVER and is_work(node):
                    found[node.name] = module
    return found


def is_work(node: ast.ClassDef) -> bool:
    if "Protocol" in map(ast.unparse, node.bases):
        return False
    return any(isinstance(each, ast.FunctionDef) and is_sent(each) for each in node.body)


def is_sent(method: ast.FunctionDef) -> bool:
    arguments = [argument.arg for argument in method.args.args]
    if method.name == "work":
        return arguments == ["self", "after", "upto"]
    returns = ast.unparse(method.returns) if method.returns else ""
    return method.name == "run" and arguments in (["self"], ["self", "batches"]) and returns.startswith("Iterator[")


KINDS = kinds_of_work()


def test_every_kind_is_found() -> None:
    """A few of each sort: without them the others may be missed, too."""
    assert {"DigestRange", "CompareBuckets", "ScanIndex", "LookUp", "LoadTransformed", "LogBatches"} <= set(KINDS)
    assert len(KINDS) >= 25


def test_work_is_unpickled_without_what_the_driver_alone_needs() -> None:
    assert unpickled([bare(getattr(import_module(module), name)) for name, module in KINDS.items()]) == list(KINDS)


def test_what_engines_give_to_work_is_as_light() -> None:
    """Work holds readers, paths and loaders of an engine: any of its modules may be loaded with them."""
    names = [module.name for module in pkgutil.walk_packages(tieout.connectors.__path__, "tieout.connectors.")]
    assert "tieout.connectors.postgres.snapshot" in names
    assert unpickled([[_Imported(name) for name in names]]) == ["list"]


class _Imported:
    """Unpickled as the module of this name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return import_module, (self.name,)


def bare(kind: type) -> object:
    """One of a kind, with nothing in it: what is loaded for it is what its class needs."""
    assert is_dataclass(kind), f"{kind.__name__} is no dataclass: make one for it here"
    made = object.__new__(kind)
    for field in fields(kind):
        object.__setattr__(made, field.name, None)
    return made


def unpickled(work: Sequence[object]) -> list[str]:
    """Each in a fresh process: the name of what it has unpickled, and behind it what it has loaded of HEAVY."""
    given = pickle.dumps([pickle.dumps(each) for each in work])
    program = [sys.executable, "-c", PROGRAM.format(heavy=HEAVY)]
    ended = subprocess.run(program, input=given, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode().splitlines()
