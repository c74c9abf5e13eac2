"""Statements with names of any content and %s for values: a percent sign in a name must not become a placeholder.

Drivers look for % everywhere in a statement, also inside quotes.
"""

from __future__ import annotations

import re

# In our sessions a backslash is an ordinary character.
_PARTS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^'"`]+|.""", re.DOTALL)
_NAMES = ('"', "`")


def with_names(statement: str) -> str:
    """For a driver that takes %s: doubles the % of names. Texts in a statement double theirs themselves ('50%%')."""
    if '"' not in statement and "`" not in statement:
        return statement
    return "".join(part.replace("%", "%%") if part.startswith(_NAMES) else part for part in _PARTS.findall(statement))


def with_question_marks(statement: str) -> str:
    """For a driver that takes ? and that knows by itself what is in quotes."""
    return "".join(
        part if part.startswith(("'", *_NAMES)) else part.replace("%s", "?") for part in _PARTS.findall(statement)
    )
