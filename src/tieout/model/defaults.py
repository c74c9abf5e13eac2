"""Defaults that several rooms use or tell of: each is written down here, and nowhere else.

Those that one request alone has stand in it: VerifyOptions, MoveOptions, CheckOptions.
"""

from __future__ import annotations

from typing import Final

META_URL: Final = "sqlite:///.tieout/meta.db"
"""Where jobs and findings are kept."""

SPARK_MASTER: Final = "local[*]"
"""Where Spark runs."""

CONNECTIONS: Final = 8
"""The most connections that a verification opens to an endpoint at once."""

CONNECT_SECONDS: Final = 10
"""How long to wait for a connection to a server."""

CHECK_LOCK_SECONDS: Final = 5
"""How long a statement of a check waits for another's lock."""

CHECK_STATEMENT_SECONDS: Final = 600
"""How long a statement of a check may take."""

LISTED_DIFFERENCES: Final = 1000
"""The most differences, or failures of one check, that are listed. Counts stay exact."""

LISTED_FAILURES: Final = 100
"""The most that a list of failures over time has."""

LISTED_JOBS: Final = 20
"""The most that a list of jobs has."""

RECHECK_AFTER: Final = 2.0
"""Seconds to wait before a suspected difference or failure is rechecked."""

RECHECK_TIMES: Final = 3
"""How often it is rechecked."""

FOLLOW_EVERY: Final = 10.0
"""Seconds between two rounds of a check that follows changes."""

FIRST_CHUNK_ROWS: Final = 250_000
"""Rows in the first chunks of a verification. Later ones are as large as can be read in `chunk_seconds`."""

COPY_CHUNK_ROWS: Final = 125_000
"""Rows in a chunk that a move copies. All are of about this size: a chunk is one transaction on the target."""
