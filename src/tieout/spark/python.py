"""The Python that Spark starts on this machine.

Spark puts a copy of pyspark that is a zip of its sources before all else that Python might import, and Python compiles
what it imports of a zip anew in each process: a second of work for each of the five that a session has, and for each
stream that is started. Our own pyspark is the same, and compiled.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import pyspark

_SCRIPT = """#!/bin/sh
# Python without Spark's zips of pyspark and py4j: they are installed.
set -f
kept=
IFS=:
for each in $PYTHONPATH; do
  case $each in
    {home}/*.zip | {home}/*.jar) ;;
    *) kept=${{kept:+$kept:}}$each ;;
  esac
done
unset IFS
PYTHONPATH=$kept exec {python} "$@"
"""


def worker_python() -> str:
    """For sessions of this machine. Spark has to be the one that pyspark came with: else its zips are what fits."""
    home = Path(pyspark.__file__).parent
    spark_home = os.environ.get("SPARK_HOME")
    if not home.is_dir() or (spark_home and Path(spark_home).resolve() != home.resolve()):
        return sys.executable
    script = _script(home)
    return str(script) if os.access(script, os.X_OK) else sys.executable  # where files are kept, none may be run


@cache
def _script(home: Path) -> Path:
    scratch = Path(tempfile.mkdtemp(prefix="tieout-python-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    script = scratch / "python"
    script.write_text(_SCRIPT.format(home=shlex.quote(str(home)), python=shlex.quote(sys.executable)))
    script.chmod(0o700)
    return script
