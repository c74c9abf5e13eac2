"""A program: a Spark session of Tieout's, and what other users of the machine could see of it, as JSON.

Standard input has the settings, the password that the session's work holds, and a directory for Spark's event log.
"""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import struct
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tieout.model.positions import Position

LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
_ENCODED = re.compile(rb"[A-Za-z0-9+/]{60,}={0,2}")


@dataclass(frozen=True)
class Work:
    """Work that holds a password, as connections do."""

    password: str

    def run(self) -> Iterator[int]:
        yield len(self.password)


@dataclass(frozen=True)
class Log:
    password: str

    def ends(self, after: Position, *_: object) -> list[Position]:
        return [Position("2")] if after.text == "1" else []


@dataclass(frozen=True)
class Following:
    """A stream of one batch."""

    log: Log
    start: Position = field(default_factory=lambda: Position("1"))
    batch_bytes: int = 1
    poll_seconds: float = 0.1
    cells: int = 0

    def work(self, after: Position, upto: Position) -> Work:
        return Work(self.log.password)


class CommandLines:
    """Every command line of the machine, for as long as the block takes: some processes of a start live briefly."""

    def __enter__(self) -> set[bytes]:
        self.seen: set[bytes] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self.seen

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.01):
            for each in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.seen.add(each.read_bytes())
                except OSError:
                    continue


def listening(pids: list[int]) -> list[str]:
    """Addresses, in the kernel's hexadecimal, on which these processes listen."""
    sockets = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets.add(os.readlink(link))
            except OSError:
                continue
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]


def shows(text: bytes, password: str) -> bool:
    """Whether it holds the password, as it is or in base64."""
    secret = password.encode()
    decoded = (base64.b64decode(found[: len(found) // 4 * 4]) for found in _ENCODED.findall(text))
    return secret in text or any(secret in each for each in decoded)


def pages(ui: str) -> bytes:
    """Spark's own pages, and those of its queries."""
    found = b""
    (application,) = json.loads(urllib.request.urlopen(f"{ui}/api/v1/applications").read())
    api = f"{ui}/api/v1/applications/{application['id']}"
    queries = [f"{ui}/SQL/execution/?id={number}" for number in range(3)]
    for page in (f"{api}/environment", f"{api}/sql", f"{ui}/environment/", f"{ui}/StreamingQuery/", *queries):
        try:
            found += urllib.request.urlopen(page).read()
        except urllib.error.HTTPError:
            continue
    return found


def ask_driver(port: int) -> str:
    """What a stranger gets who sends Spark's driver twenty bytes to unpack."""
    body = bytes(20)
    message = struct.pack(">bqi", 3, 7, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(struct.pack(">q", 8 + len(message)) + message)
        return connection.recv(1000).decode(errors="replace")


def call_back(port: int) -> str:
    """What a stranger gets who calls a function of the stream's."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"c\np0\n__str__\ne\n")
        try:
            return connection.recv(1000).decode()
        except ConnectionResetError:
            return ""


def stream(spark: Any, password: str) -> tuple[list[int], str, bytes]:
    """Batches, a stranger's answer, and what is in the checkpoint."""
    from tieout.spark.stream import stream_frame

    batches: list[int] = []
    with tempfile.TemporaryDirectory() as directory:
        frame = stream_frame(spark, Following(Log(password)))
        writer = frame.writeStream.foreachBatch(lambda batch, _: batches.append(len(batch.collect())))
        query = writer.option("checkpointLocation", directory).start()
        deadline = time.monotonic() + 60
        while not batches and time.monotonic() < deadline:
            time.sleep(0.05)
        answer = call_back(spark.sparkContext._gateway._callback_server.port)
        query.stop()
        kept = b"".join(each.read_bytes() for each in Path(directory).rglob("*") if each.is_file())
    return batches, answer, kept


def main() -> None:
    from tieout.spark.executor_work import run_work, work_frame
    from tieout.spark.session import start_session

    asked = json.load(sys.stdin)
    secrets, password = asked["secrets"], asked["password"]
    with CommandLines() as lines:
        spark = start_session("local[1]", {**asked["conf"], **secrets})
    context = spark.sparkContext
    ((outcome,),) = run_work(spark, [[Work(password)]])
    batches, answer, checkpoint = stream(spark, password)
    plan = work_frame(spark, [[Work(password)]])._jdf.queryExecution().toString().encode()
    shown = {"plan": plan, "checkpoint": checkpoint, "pages": pages(context.uiWebUrl)}
    java = context._gateway.proc.pid
    result = {
        "worked": [outcome.only(), batches],
        "settings": {name: context.getConf().get(name) for name in secrets},
        "driver": ask_driver(int(context.getConf().get("spark.driver.port"))),
        "lines": sorted(
            {line.decode(errors="replace") for line in lines for each in secrets.values() if each.encode() in line}
        ),
        "java_seen": any(b"SparkSubmit" in line for line in lines),
        "property": context._jvm.java.lang.System.getProperty("tieout.test.password"),
        "elsewhere": [each for each in listening([java, os.getpid()]) if not each.startswith(LOOPBACK)],
        "listening": len(listening([java])),
        "answer": answer,
        "open": sorted(str(each) for each in Path(asked["local"]).iterdir() if each.stat().st_mode & 0o077),
    }
    spark.stop()
    shown["events"] = b"".join(each.read_bytes() for each in Path(asked["events"]).rglob("*") if each.is_file())
    result["showing"] = sorted(
        f"{name}: {kind}"
        for name, text in shown.items()
        for kind, each in {**secrets, "work": password}.items()
        if shows(text, each)
    )
    result["sizes"] = {name: len(text) for name, text in shown.items()}
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    # Workers import what they unpickle: by the module's name, and not as __main__.
    from tests.integration import shared_machine

    shared_machine.main()
