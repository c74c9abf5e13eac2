"""When a database can't be corrupted so."""

from __future__ import annotations


class NotDone(Exception):
    """The table, its rows or its indexes do not allow this corruption."""
