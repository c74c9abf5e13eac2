"""Whether a session has the settings that it was opened with: a proxy may have kept the statement that set them."""

from __future__ import annotations

import re
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.errors import AccessError

_COMMENT = re.compile(r"/\*.*?\*/")
_GIVEN = re.compile(r"(\w+) = ('[^']*'|[\w.]+)")
_ASKED = ("time_zone", "sql_mode", "lock_wait_timeout", "character_set_results", "sql_select_limit")
# Each server reads its own comments.
_READ_ONLY = " /*M!100100 , @@SESSION.tx_read_only */ /*!80000 , @@SESSION.transaction_read_only */"
_QUESTION = f"SELECT {', '.join(f'@@SESSION.{name}' for name in _ASKED)}{_READ_ONLY}"


def check_settings(url: EndpointUrl, connection: Any, given: str) -> None:
    """`given`: the statement that set them; what it sets twice has the last value."""
    wanted = {name: value.strip("'") for name, value in _GIVEN.findall(_COMMENT.sub("", given))}
    with connection.cursor() as cursor:
        cursor.execute(_QUESTION)
        found = [str(value) for value in cursor.fetchone()]
    lacking = [
        f"{name} = {wanted[name]!r}"
        for name, value in zip(_ASKED, found, strict=False)
        if not set(wanted[name].split(",")) <= set(value.split(","))
    ]
    if url.read_only and found[len(_ASKED) :] not in ([], ["1"]):
        lacking.append("transaction_read_only = 1")
    if lacking:
        raise AccessError(
            f"{url.redacted()}: the session did not get its settings ({', '.join(lacking)}): "
            "a proxy may have dropped them",
            "connect to the server itself",
        )
