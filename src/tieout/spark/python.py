"""The Python that Spark starts on this machine.

Spark puts a copy of pyspark that is a zip of its sources before all else that Python might import, and Python compiles
what it imports of a zip anew in each process: a second of work for each of the five that a session has, and for each
stream that is started. Our own pyspark is the same, and compiled. So Spark is told to start `worker-python.sh`, which
starts Python without the zips.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark

WORKER_PYTHON = "TIEOUT_WORKER_PYTHON"
"""The variable that tells the launcher which Python to start."""

_LAUNCHER = Path(__file__).with_name("worker-python.sh")


def worker_python() -> str:
    """For sessions of this machine. Spark has to be the one that pyspark came with: else its zips are what fits."""
    home = Path(pyspark.__file__).parent
    spark_home = os.environ.get("SPARK_HOME")
    if not home.is_dir() or (spark_home and Path(spark_home).resolve() != home.resolve()):
        return sys.executable
    # It may be packed in a zip, or have lost its right to be run on its way here.
    return str(_LAUNCHER) if os.access(_LAUNCHER, os.X_OK) else sys.executable
