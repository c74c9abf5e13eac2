"""Short ids that sort by time and are easy to type: v-20261115-081322-k3f9.

A user types one to mean a job or plan: the id, the beginning of it, or `last`.
"""

from __future__ import annotations

import re
import secrets
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, Select

from tieout.errors import UsageError

SHAPE = re.compile(r"[a-z0-9-]+")


def find(connection: Connection, newest_first: Select[*tuple[Any, ...]], column: Column[str], reference: str) -> Any:
    """The row that `reference` means, or None; UsageError if it means several."""
    if reference == "last":
        return connection.execute(newest_first.limit(1)).one_or_none()
    if not SHAPE.fullmatch(reference):
        return None
    begins_so = newest_first.where(column.startswith(reference, autoescape=True))
    found = connection.execute(begins_so.limit(4)).all()
    if len(found) > 1:
        some = ", ".join(row.id for row in found[:3]) + (" …" if len(found) > 3 else "")
        raise UsageError(f"{reference!r} matches several: {some}", "type more of the id")
    return found[0] if found else None


LETTERS = "abcdefghjkmnpqrstvwxyz23456789"  # without letters and digits that look alike


def new_id(prefix: str, at: datetime) -> str:
    tail = "".join(secrets.choice(LETTERS) for _ in range(4))
    return f"{prefix}-{at:%Y%m%d-%H%M%S}-{tail}"
