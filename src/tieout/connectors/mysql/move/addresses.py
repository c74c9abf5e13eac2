"""Internet addresses as MariaDB writes them."""

from __future__ import annotations

_MAPPED = 0xFFFF


def address_text(value: bytes) -> str:
    """Of the four bytes of an INET4, or the sixteen of an INET6.

    The longest run of zeros is left out, be it one alone; what may be an address of version 4 ends like one.
    """
    if len(value) == 4:
        return ".".join(map(str, value))
    words = [int.from_bytes(value[at : at + 2], "big") for at in range(0, 16, 2)]
    start, length = _longest_gap(words)
    if start == 0 and (length == 6 or (length == 5 and words[5] == _MAPPED)):
        return f"::{'ffff:' if length == 5 else ''}{'.'.join(map(str, value[12:]))}"
    if not length:
        return _joined(words)
    return f"{_joined(words[:start])}::{_joined(words[start + length :])}"


def _longest_gap(words: list[int]) -> tuple[int, int]:
    best = (0, 0)
    for start in range(len(words)):
        length = next((n for n, word in enumerate(words[start:]) if word), len(words) - start)
        best = (start, length) if length > best[1] else best
    return best


def _joined(words: list[int]) -> str:
    return ":".join(f"{word:x}" for word in words)
