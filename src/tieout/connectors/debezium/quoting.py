"""Puts quotes around a text that stands for a default in SQL; nothing else of this connector does."""

from __future__ import annotations


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
