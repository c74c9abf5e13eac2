"""Texts that are too long for a column because of the spaces at their end."""

from __future__ import annotations

from tieout.model.tables import Column
from tieout.model.types import TypeName

MARK = "."
"""What a text that is too long gets at its end: PostgreSQL cuts spaces off there, without a word, and no letters."""


def most_letters(source: Column, target: Column) -> int | None:
    """How many letters a text may have; None if none of the source's is longer than the target's may be."""
    room, length = target.type.precision, source.type.precision
    if not (source.type.name is target.type.name is TypeName.TEXT) or room is None:
        return None
    return None if length is not None and length <= room else room


def marked(text: str, most: int) -> str:
    return text + MARK if len(text) > most else text
