"""Counts, durations and sizes in plain words."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """`3.2 s`, `2 min 05 s`, `1 h 03 min`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02d} min"


def size(count: int) -> str:
    """`512 bytes`, `16.0 MB`, `1.5 GB`."""
    if count < 1 << 20:
        return plural(count, "byte")
    return f"{count / (1 << 20):,.1f} MB" if count < 1 << 30 else f"{count / (1 << 30):,.1f} GB"
