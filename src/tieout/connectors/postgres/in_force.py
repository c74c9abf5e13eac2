"""Whether a session has the settings that it was opened with.

They travel with the login. A pooler between us and the server may drop them, and all would seem well: a policy hides
rows, and two tables that differ are equal; a session that should only read can write. To set them again would not do:
behind a pooler the next statement, or the next user, may have another session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from tieout.config.secrets import scrub
from tieout.connectors.postgres import quoting
from tieout.errors import AccessError

_GIVEN = re.compile(r"-c (\w+)=(\S*)")
_TIME = re.compile(r"(\d+)(ms|s|min|h|d)?")
_MILLISECONDS = {None: 1, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def check_settings(address: str, ask: Callable[[str], Any]) -> None:
    """Compares what the address (`libpq_url`) asked for with what `ask`, which returns a query's row, is told."""
    place, _, query = address.partition("?")
    wanted = dict(_GIVEN.findall(parse_qs(query)["options"][0]))
    found = ask("SELECT " + ", ".join(f"pg_catalog.current_setting({quoting.text(name)})" for name in wanted))
    lacking = [name for name, value in zip(wanted, found, strict=True) if not _same(name, wanted[name], value)]
    if lacking:
        raise _refusal(scrub(place), {name: wanted[name] for name in lacking})


def _refusal(place: str, lacking: Mapping[str, str]) -> AccessError:
    listed = ", ".join(f"{name} = {value}" for name, value in lacking.items())
    return AccessError(
        f"{place}: the session did not get its settings ({listed}): a pooler may have dropped them",
        "connect to the server itself, or ALTER ROLE … SET them for this user",
    )


def _same(name: str, wanted: str, found: str) -> bool:
    if name == "DateStyle":
        return found.partition(",")[0] == wanted
    return _normal(wanted) == _normal(found)


def _normal(value: str) -> str | int:
    """Times in milliseconds; names without the quotes that the server may put around them."""
    time = _TIME.fullmatch(value)
    return int(time[1]) * _MILLISECONDS[time[2]] if time else value.replace('"', "").replace(" ", "").lower()
