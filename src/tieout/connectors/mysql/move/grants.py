"""What a user may do on a MySQL server, from what SHOW GRANTS says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# GRANT SELECT, INSERT (`a`, `b`) ON `shop`.* TO …; a role that is granted has no ON.
_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<schema>\*|`(?:[^`]|``)+`)\.(?P<table>\*|`(?:[^`]|``)+`) TO ")
_ALL = "ALL PRIVILEGES"


@dataclass(frozen=True)
class Grants:
    """Lines of SHOW GRANTS: of a user, and of the roles that it has."""

    lines: Sequence[str]

    def lacking(self, rights: Sequence[str], schema: str) -> list[str]:
        """Those of the rights that the user does not have on all tables of a schema."""
        had = {right for line in self.lines for right in _rights(line, schema)}
        return [] if _ALL in had else [right for right in rights if right not in had]


def _rights(line: str, schema: str) -> list[str]:
    found = _GRANT.match(line)
    if found is None or found["table"] != "*":
        return []
    if found["schema"] != "*" and not _is_like(schema, found["schema"][1:-1].replace("``", "`")):
        return []
    return [right.strip() for right in found["rights"].split(",")]


def _is_like(schema: str, pattern: str) -> bool:
    r"""A schema may be granted by a pattern of LIKE; \ stands before letters that mean themselves."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    meant = {"%": ".*", "_": "."}
    expression = "".join(meant.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(expression, schema, re.DOTALL) is not None
