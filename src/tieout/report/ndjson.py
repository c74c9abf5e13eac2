"""The result as lines of JSON, each with its `kind`.

First a line for each table (`table`), then one for each difference (`missing`, `extra` or `changed`), both with the
fields they have in the JSON document; the last line is the summary (`verification`). A file without it was cut off.
"""

from __future__ import annotations

from typing import Any, TextIO

from tieout.model.differences import DifferenceCounts
from tieout.model.documents import difference_document, table_document, verification_document
from tieout.model.results import Verdict, VerificationResult
from tieout.report.json import json_text


def write(result: VerificationResult, stream: TextIO) -> None:
    for table in result.tables:
        _line({"kind": "table", **table_document(table)}, stream)
    for difference in result.differences:
        _line(difference_document(difference), stream)
    _line(summary_document(result), stream)


def summary_document(result: VerificationResult) -> dict[str, Any]:
    """The JSON document with totals where the lists of tables and differences were."""
    document = verification_document(result)
    del document["tables"], document["differences"]
    found = sum((table.differences for table in result.tables), DifferenceCounts())
    return document | {
        "totals": {
            "tables": len(result.tables),
            **{verdict.value: sum(table.verdict is verdict for table in result.tables) for verdict in Verdict},
            "missing": found.missing,
            "extra": found.extra,
            "changed": found.changed,
            "listed": len(result.differences),
        }
    }


def _line(document: dict[str, Any], stream: TextIO) -> None:
    stream.write(json_text(document) + "\n")
