"""Names that hold what a driver takes for the place of a parameter."""

from __future__ import annotations

import pytest

from tieout.connectors.sessions import formattable, with_question_marks

NAMES = ["a%s", "%(x)s", "100%", "%%", "it's %s", '"%s"', "`%s`", "'"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("quote", ["`", '"'])
def test_a_name_with_percent_stays_as_it_is(name: str, quote: str) -> None:
    quoted = f"{quote}{name.replace(quote, quote * 2)}{quote}"
    statement = f"SELECT * FROM {quoted} WHERE a = %s AND b LIKE 'x%%' AND {quoted} = %s"
    wanted = f"SELECT * FROM {quoted} WHERE a = 1 AND b LIKE 'x%' AND {quoted} = 2"
    assert formattable(statement) % (1, 2) == wanted
    assert with_question_marks(statement) == wanted.replace("= 1", "= ?").replace("= 2", "= ?").replace("x%", "x%%")
