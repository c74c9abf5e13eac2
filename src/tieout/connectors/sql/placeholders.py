"""Statements that have both names of any content and %s for values: a percent sign in a name is no placeholder.

Drivers look for % everywhere in a statement, inside of quotes too.
"""

from __future__ import annotations

import re

# In our sessions a backslash is a letter like any other.
_PARTS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^'"`]+|.""", re.DOTALL)
_NAMES = ('"', "`")


def with_names(statement: str) -> str:
    """The same for a driver that takes %s: of a name it sees %%. A text says it so by itself ('50%%')."""
    if '"' not in statement and "`" not in statement:
        return statement
    return "".join(part.replace("%", "%%") if part.startswith(_NAMES) else part for part in _PARTS.findall(statement))


def with_question_marks(statement: str) -> str:
    """The same for a driver that takes ?, which knows by itself what stands in quotes."""
    return "".join(
        part if part.startswith(("'", *_NAMES)) else part.replace("%s", "?") for part in _PARTS.findall(statement)
    )
