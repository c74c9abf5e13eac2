"""The result as one JSON document, in the stable shape of `tieout.model.documents`."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from typing import Any, TextIO

from tieout.model.documents import verification_document
from tieout.model.results import VerificationResult

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
