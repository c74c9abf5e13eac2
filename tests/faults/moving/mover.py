"""Runs a task in a process of its own, to be killed, on a Spark that survives it.

What Spark's executors were doing when the driver died they go on doing, as those of a cluster would.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = """
import json, os, sys, traceback
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from tieout import api
from tieout.model.documents import move_status_document
from tieout.model.requests import MoveOptions, MoveRequest
from tieout.model.requests import TableRequest

asked = json.loads(sys.argv[1])
gateway = launch_gateway()
jvm = gateway.jvm
jsc = jvm.org.apache.spark.api.java.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
context = SparkContext(gateway=gateway, jsc=jsc, conf=None)
spark = SparkSession(context)
for query in spark.streams.active:
    query.stop()
if asked["failpoint"]:
    place, times = asked["failpoint"]
    with open(os.environ["TIEOUT_FAILPOINT"] + ".new", "w") as chosen:
        chosen.write(f"{place} {times} {os.getpid()}")
    os.rename(os.environ["TIEOUT_FAILPOINT"] + ".new", os.environ["TIEOUT_FAILPOINT"])
if asked.get("stopped"):
    from tests.faults.moving import stopped
    getattr(stopped, asked["stopped"])()
request = MoveRequest(
    asked["task"], asked["source"], asked["target"], tuple(map(TableRequest, asked["tables"])),
    asked["delivery"], asked.get("consistency"), options=MoveOptions(**asked["options"]),
)
states = []
try:
    status = api.run_move(request, spark=spark, meta=asked["meta"], until_caught_up=asked["until_caught_up"],
        finish=asked.get("finish", False), listener=lambda status: states.append(status.state))
    print(json.dumps({**move_status_document(status), "states": states}), flush=True)
    code = 0
except BaseException:
    traceback.print_exc()
    code = 1
os._exit(code)  # in an orderly exit, pyspark would take the session with it
"""


@dataclass(frozen=True)
class Ended:
    """How a mover's process ended. Its status says which states it had, too."""

    code: int
    status: dict[str, Any] | None
    words: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


@dataclass(frozen=True)
class Mover:
    """Starts the movers of one task."""

    spark: SparkSession
    directory: Path
    asked: dict[str, Any]

    def start(self, failpoint: tuple[str, int] | None = None, **changes: Any) -> subprocess.Popen[str]:
        import json

        gateway = self.spark.sparkContext._gateway
        file = Path(os.environ["TIEOUT_FAILPOINT"])
        for left in (file, Path(f"{file}.reached")):
            left.unlink(missing_ok=True)
        environment = {
            **os.environ,
            "PYSPARK_GATEWAY_PORT": str(gateway.gateway_parameters.port),
            "PYSPARK_GATEWAY_SECRET": gateway.gateway_parameters.auth_token,
        }
        asked = {**self.asked, "failpoint": failpoint, "until_caught_up": True, **changes}
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, json.dumps(asked)],
            env=environment,
            cwd=Path(__file__).parents[3],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, failpoint: tuple[str, int] | None = None, **changes: Any) -> Ended:
        """Until it has caught up, or was killed."""
        return self.ended(self.start(failpoint, **changes))

    def ended(self, process: subprocess.Popen[str]) -> Ended:
        """Waits for a mover that was started."""
        import json

        out, err = process.communicate(timeout=150)
        self._call_back_here()
        return Ended(process.returncode, json.loads(out) if process.returncode == 0 else None, err)

    def _call_back_here(self) -> None:
        """The JVM calls back whom it was told last, which was the mover: streams of this process would call there."""
        from py4j.java_gateway import JavaObject

        gateway = self.spark.sparkContext._gateway
        if gateway.__dict__.get("_callback_server") is not None:  # an attribute that is not there is asked of the JVM
            server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
            server.resetCallbackClient(server.getCallbackClient().getAddress(), gateway._python_proxy_port)
