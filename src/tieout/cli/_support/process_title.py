"""Hides passwords in the process's own command line, which every user of the machine can list."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

from tieout.config.secrets import MASK, scrub

_URL = re.compile(r"(://[^:/@]*:).*@", re.DOTALL)
_STAT = Path("/proc/self/stat")


def hide_passwords() -> None:
    """Masks passwords where `ps` reads them: in the memory that holds the arguments. On Linux only."""
    try:
        # The command name is in parentheses and may contain anything; the text after it splits safely.
        fields = _STAT.read_text(errors="replace").rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])
    except (OSError, IndexError, ValueError):
        return
    if start == 0 or end <= start:
        return
    shown = ctypes.string_at(start, end - start)
    masked = masked_arguments(shown)
    if masked != shown:
        ctypes.memmove(start, masked, len(shown))


def masked_arguments(arguments: bytes) -> bytes:
    """Arguments, each ended by a NUL, without passwords, and in as many bytes."""
    # A word is a URL or contains one. Its password may have spaces and quotes, where scrub() would end it.
    words = [_URL.sub(rf"\g<1>{MASK}@", os.fsdecode(word)) for word in arguments.split(b"\0")]
    masked = b"\0".join(os.fsencode(scrub(word)) for word in words)
    # A password of one letter is shorter than its mask: then the last argument is truncated.
    return masked[: len(arguments) - 1].ljust(len(arguments), b"\0")
