"""The test vectors of the specification are what the code gives. A failure prints the line as the code has it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xxhash

from tieout.canonical.decode import decode
from tieout.canonical.fields import Field
from tieout.canonical.fingerprint import digest, fingerprints, records
from tieout.model.canonical_kinds import Form, Kind, Tolerance

SPECIFICATION = Path(__file__).parents[3] / "docs/explanation/canonical-form.md"
_KIND = re.compile(r"(?P<form>[a-z0-9 ]+?)(?:\((?P<scale>\d+)\))?(?: ± (?P<amount>[\d.e-]+)(?P<relative> relative)?)?")


def block(name: str) -> list[str]:
    found = re.findall(rf"```{name}\n(.*?)```", SPECIFICATION.read_text(), re.DOTALL)
    return [line for text in found for line in text.splitlines() if line]


def kind_of(text: str) -> Kind:
    match = _KIND.fullmatch(text.strip())
    assert match is not None, text
    tolerance = Tolerance(float(match["amount"]), match["relative"] is not None) if match["amount"] else None
    return Kind(Form(match["form"]), int(match["scale"] or 0), tolerance)


def array_of(kind: Kind, value: Any) -> pa.Array:
    """The value as a driver might hand it over."""
    if isinstance(value, dict):
        return pa.array([bytes.fromhex(value["bytes"])], pa.large_binary())
    if isinstance(value, float):
        return pa.array([value], pa.float32() if kind.form is Form.FLOAT32 else pa.float64())
    if isinstance(value, bool):
        return pa.array([value], pa.bool_())
    if isinstance(value, int):
        return pa.array([value], pa.uint64() if value >= 0 else pa.int64())
    return pa.array([value], pa.string())


def decoded(kinds: Sequence[Kind], values: Sequence[Any]) -> list[Field]:
    return [decode(kind, array_of(kind, value)) for kind, value in zip(kinds, values, strict=True)]


def vector(kinds: Sequence[Kind], values: Sequence[Any]) -> tuple[str, str]:
    """Record, with its parts apart, and fingerprint."""
    fields = decoded(kinds, values)
    row = records(fields)[0]
    parts = [row["status"].tobytes(), *(row[f"f{place}"].tobytes() for place in range(len(fields)))]
    parts.append(row["odd"].tobytes())
    assert b"".join(parts) == row.tobytes(), "nothing stands between the parts"
    low, high = (int(word) for word in fingerprints(fields)[0])
    return " ".join(part.hex() for part in parts), f"{low + (high << 64):032x}"


def single_line(kind: str, value: str) -> str:
    """A line of the `vectors` block as the code has it."""
    fields = decoded([kind_of(kind)], [json.loads(value)])
    record, fingerprint = vector([kind_of(kind)], [json.loads(value)])
    shown = fields[0].text(0)
    return " | ".join([kind, value, "NULL" if shown is None else shown, record, fingerprint])


def row_line(kinds: str, values: str) -> str:
    """A line of the `rows` block as the code has it."""
    return " | ".join([values, *vector([kind_of(kind) for kind in kinds.split(", ")], json.loads(values))])


@pytest.mark.parametrize("line", block("vectors"))
def test_a_value(line: str) -> None:
    kind, value, *_ = line.split(" | ")
    assert line == single_line(kind, value)


@pytest.mark.parametrize("line", block("vectors"))
def test_a_fingerprint_is_plain_xxh3(line: str) -> None:
    *_, record, fingerprint = line.split(" | ")
    assert xxhash.xxh3_128_hexdigest(bytes.fromhex(record)) == fingerprint


def test_every_form_has_a_vector() -> None:
    assert {kind_of(line.split(" | ")[0]).form for line in block("vectors")} == set(Form)


def test_rows_and_their_digest() -> None:
    kinds, rows = "", []
    for line in block("rows"):
        if line.startswith("kinds: "):
            kinds, rows = line.removeprefix("kinds: "), []
        elif line.startswith("digest: "):
            columns = [[json.loads(row)[place] for row in rows] for place in range(len(kinds.split(", ")))]
            arrays = [
                pa.concat_arrays([array_of(kind_of(kind), value) for value in column])
                for kind, column in zip(kinds.split(", "), columns, strict=True)
            ]
            fields = [decode(kind_of(kind), array) for kind, array in zip(kinds.split(", "), arrays, strict=True)]
            assert line == f"digest: {digest(fingerprints(fields)).to_text()}"
        else:
            rows.append(line.split(" | ")[0])
            assert line == row_line(kinds, rows[-1])
    assert rows
