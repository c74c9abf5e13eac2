"""Plays the histories whose seeds it reads, a line each, and writes what came of them, a line each."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import traceback
from contextlib import ExitStack, closing
from pathlib import Path

ROOT = Path(__file__).parents[3]
EVIDENCE = ROOT / ".kills"
"""What is known of histories with violations, a file each."""


def main() -> None:
    _make_java_quick()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its servers and its files go with it
    from tests.faults.kills.history import Plan, play
    from tests.faults.kills.movers import Movers, spark_for_movers
    from tests.faults.kills.places import Servers

    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tieout-kills-")))
        servers = stack.enter_context(closing(Servers()))
        spark = stack.enter_context(spark_for_movers(directory))
        movers = stack.enter_context(closing(Movers(spark, directory)))
        for line in sys.stdin:
            plan = Plan.of(int(line))
            try:
                outcome = play(plan, servers, movers, directory / "history")
                told = outcome.document()
                if outcome.violations:
                    EVIDENCE.mkdir(exist_ok=True)
                    (EVIDENCE / f"{plan.seed}.json").write_text(json.dumps(outcome.evidence, default=str))
            except Exception:
                told = {"error": traceback.format_exc()}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()


def _make_java_quick() -> None:
    """As for the tests: what runs for minutes has nothing of code that Java takes long to make fast."""
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
    classes = Path(sys.prefix, "spark.jsa")
    if classes.exists():
        options = f"-XX:SharedArchiveFile={classes} -Xlog:cds=off -Xlog:cds+dynamic=off"
        os.environ.setdefault("SPARK_SUBMIT_OPTS", options)


if __name__ == "__main__":
    main()
