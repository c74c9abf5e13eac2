"""Defaults that several rooms use or document: each exists here, and nowhere else.

Defaults of a single request are in its class: VerifyOptions, MoveOptions, CheckOptions.
"""

from __future__ import annotations

from typing import Final

META_URL: Final = "sqlite:///.tieout/meta.db"
"""Where jobs, differences and failures are stored."""

SPARK_MASTER: Final = "local[*]"
"""Where Spark runs."""

CONNECTIONS: Final = 8
"""The most connections that a verification opens to an endpoint at once."""

CONNECT_SECONDS: Final = 10
"""How long to wait for a connection to a server."""

CHECK_LOCK_SECONDS: Final = 5
"""How long a statement of a check waits for a lock."""

CHECK_STATEMENT_SECONDS: Final = 600
"""How long a statement of a check may take."""

LISTED_DIFFERENCES: Final = 1000
"""The most differences, or failures of one check, to list. Counts stay exact."""

LISTED_FAILURES: Final = 100
"""The most failures that `tieout failures list` shows."""

LISTED_JOBS: Final = 20
"""The most jobs that `tieout jobs list` shows."""

RECHECK_AFTER: Final = 2.0
"""Seconds before a recheck of what differs or seems wrong."""

RECHECK_TIMES: Final = 3
"""The number of rechecks."""

FOLLOW_EVERY: Final = 10.0
"""Seconds between two rounds of a check that follows changes."""

FIRST_CHUNK_ROWS: Final = 250_000
"""Rows in the first chunks of a verification. Later ones have as many as it reads in `chunk_seconds`."""

COPY_CHUNK_ROWS: Final = 125_000
"""Rows in a chunk that a move copies, roughly: a chunk is one transaction on the target."""
