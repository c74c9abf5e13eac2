"""Short ids that sort by time and are easy to type: v-20261115-081322-k3f9."""

from __future__ import annotations

import secrets
from datetime import datetime

LETTERS = "abcdefghjkmnpqrstvwxyz23456789"  # none that is taken for another


def new_id(prefix: str, at: datetime) -> str:
    tail = "".join(secrets.choice(LETTERS) for _ in range(4))
    return f"{prefix}-{at:%Y%m%d-%H%M%S}-{tail}"
