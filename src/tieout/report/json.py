"""The result as one JSON document or as lines of JSON, in the stable shape of `tieout.model.documents`."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from typing import Any, TextIO

from tieout.model.differences import DifferenceCounts
from tieout.model.documents import difference_document, table_document, verification_document
from tieout.model.results import Verdict, VerificationResult

# JSON allows these raw, but a terminal obeys some (C1 controls, bidirectional overrides), programs that split at
# Unicode line ends break at others, and a lone surrogate can't be encoded. As an escape each means the same.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")


def write(result: VerificationResult, stream: TextIO) -> None:
    stream.write(json_text(verification_document(result), indent=2) + "\n")


def json_text(document: Any, indent: int | None = None) -> str:
    """JSON that stays readable in every script and is safe to print; dates and times become ISO text."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, default=_iso)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _iso(value: object) -> str:
    if isinstance(value, date | datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def write_ndjson(result: VerificationResult, stream: TextIO) -> None:
    """Lines of JSON, each with its `kind`: a line for each table (`table`), then one for each difference (`missing`,
    `extra` or `changed`), both with the fields they have in the JSON document; the last line is the summary
    (`verification`). A file without it was cut off.
    """
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
