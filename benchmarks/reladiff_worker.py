"""Runs reladiff, in an environment of its own: a request a line on standard input, an answer a line back.

Stands alone: nothing of Tieout is importable here.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from concurrent.futures import wait
from typing import Any

from reladiff import connect, connect_to_table, diff_tables


def main() -> None:
    logging.disable(logging.WARNING)  # it warns of doubles, and of checksums that take their time
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """`seconds` from open connections to the last difference; `rows` is the number of keys that differ."""
    threads = request["threads"]
    databases = [connect(dict(end), threads) for end in (request["source"], request["target"])]
    try:
        for database in databases:
            _open_connections(database, threads)
        started = time.perf_counter()
        tables = [
            connect_to_table(database, request["table"], request["key"], extra_columns=tuple(request["columns"]))
            for database in databases
        ]
        # What its command line does: two threads of its own for each connection.
        with diff_tables(*tables, max_threadpool_size=threads * 2) as differences:
            keys = {row[0] for _, row in differences}
        return {"seconds": time.perf_counter() - started, "rows": len(keys)}
    finally:
        for database in databases:
            database.close()


def _open_connections(database: Any, threads: int) -> None:
    """Each thread of a database connects on its first query."""
    wait([database._queue.submit(time.sleep, 0.05) for _ in range(threads)])
    database.query("SELECT 1", int)


if __name__ == "__main__":
    main()
