"""Which Java Spark would run on, found without starting it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path


def java_version() -> str | None:
    """As the runtime says in its `release` file; "unknown" if it says nothing, None if there is no Java."""
    program = java_program()
    if program is None:
        return None
    for home in program.resolve().parents[1:3]:
        try:
            found = re.search('^JAVA_VERSION="([^"]+)"', (home / "release").read_text(), re.MULTILINE)
        except OSError:
            continue
        if found:
            return found[1]
    return "unknown"


def java_program() -> Path | None:
    """Where Spark's launcher would find it: JAVA_HOME first, then the PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        program = Path(home) / "bin" / "java"
        return program if program.exists() else None
    found = shutil.which("java")
    return Path(found) if found else None
