"""The labels that MariaDB stores for texts, as it does: 10.11, in strict mode. None: only the server knows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tieout.model.canonical_kinds import Form, Kind
from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName
from tieout.verification import holding
from tieout.verification.holding import unknown_reading
from tieout.verification.labels import UndecidedLabel

ENUM = LogicalType(TypeName.ENUM, "enum('small','large','10')", values=("small", "large", "10"))
SET = LogicalType(TypeName.SET, "set('small','large','x')", values=("small", "large", "x"))


def held(text: str, t: LogicalType, collation: str | None) -> str | None:
    form = Form.SET if t.name is TypeName.SET else Form.TEXT
    try:
        (found,) = holding.held(pa.array([text]), Kind(form), Column("c", t, collation=collation)).to_pylist()
    except UndecidedLabel:
        return None
    return str(found)


@pytest.mark.parametrize("collation", ["utf8mb4_general_ci", "utf8mb4_uca1400_ai_ci", "latin1_swedish_ci"])
@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("small", "small"),
        ("Small  ", "small"),
        ("1", "small"),
        ("02 ", "large"),
        ("10", "10"),
        ("4", "4"),  # is refused, as are the next ones
        ("", ""),
        (" small", " small"),
        ("1.0", "1.0"),
        ("Sm\u00e1ll", None),
        ("sma\x01ll", None),
        ("0", None),
        ("+1", None),
    ],
)
def test_labels(text: str, stored: str | None, collation: str) -> None:
    assert held(text, ENUM, collation) == stored


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Small", "small"),
        ("x,LARGE,large  ", "large,x"),
        ("small,small", "small"),
        ("", ""),
        ("5", "small,x"),
        ("0", ""),
        ("8", "8"),  # is refused, as are the next ones
        ("x,1", "x,1"),
        ("small,", "small,"),
        ("small ,large", "small ,large"),
        ("x,Sm\u00e1ll", None),
        ("5 ", None),
    ],
)
def test_members(text: str, stored: str | None) -> None:
    assert held(text, SET, "utf8mb4_general_ci") == stored


@pytest.mark.parametrize(
    ("collation", "stored"),
    [
        ("utf8mb4_bin", "SMALL"),
        ("utf8mb4_uca1400_as_cs", "SMALL"),
        ("utf8mb4_0900_as_ci", "small"),
        ("utf8mb4_turkish_ci", None),
        ("utf8mb4_uca1400_spanish_ai_ci", None),
        (None, None),
    ],
)
def test_each_collation_has_letters_of_its_own(collation: str | None, stored: str | None) -> None:
    assert held("SMALL", ENUM, collation) == stored
    assert held("small", ENUM, collation) == "small"
    assert held("sm\u00e1ll", ENUM, "utf8mb4_bin") == "sm\u00e1ll"


@pytest.mark.parametrize("holder", [ENUM, SET])
def test_what_is_no_text_is_unknown(holder: LogicalType) -> None:
    assert "compute the text of a label" in str(unknown_reading(LogicalType(TypeName.INTEGER, "int", 32), holder))
    assert unknown_reading(LogicalType(TypeName.TEXT, "string"), holder) is None
    assert unknown_reading(SET, holder) is None
    assert unknown_reading(LogicalType(TypeName.TEXT, "void"), holder) is None
    of_postgres = LogicalType(TypeName.ENUM, "mood", values=("1", "2"))
    assert unknown_reading(LogicalType(TypeName.INTEGER, "int", 32), of_postgres) is None
