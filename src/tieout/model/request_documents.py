"""A verification's request as a JSON document, and back: what a job keeps so that it can be run again.

The document holds no secret: it carries the redacted URLs it is given, and whoever reads it back brings the
real ones. A field that an older program did not write takes its default; one that this program does not know
is refused, since it would be silently ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from tieout.errors import UsageError
from tieout.model.requests import TableRequest, VerifyOptions, VerifyRequest

_NAMES = ("key", "columns", "exclude_columns", "exclude")
"""Lists of names: JSON has no tuples."""


def request_document(request: VerifyRequest, redacted: tuple[str, str]) -> dict[str, Any]:
    """The request with the two `redacted` URLs in place of its own."""
    options = asdict(request.options)
    options["strategy"] = request.options.strategy.value
    return {
        "source": redacted[0],
        "target": redacted[1],
        "tables": [_table_document(table) for table in request.tables],
        "options": options,
        "task": request.task,
    }


def request_from_document(document: Mapping[str, Any], source_url: str, target_url: str) -> VerifyRequest:
    """The request that the document was made of, with these URLs. Raises UsageError if it is none."""
    _refuse_unknown(document, VerifyRequest)
    return VerifyRequest(
        source_url,
        target_url,
        tuple(_table(table) for table in document.get("tables", ())),
        _options(document.get("options", {})),
        document.get("task"),
    )


def _table_document(table: TableRequest) -> dict[str, Any]:
    document = asdict(table)
    for name in _NAMES:
        document[name] = None if document[name] is None else list(document[name])
    document["tolerance"] = dict(table.tolerance)
    document["expressions"] = {column: list(pair) for column, pair in table.expressions.items()}
    return document


def _table(document: Mapping[str, Any]) -> TableRequest:
    _refuse_unknown(document, TableRequest)
    values = dict(document)
    for name in _NAMES:
        if values.get(name) is not None:
            values[name] = tuple(values[name])
    values["tolerance"] = dict(values.get("tolerance") or {})
    values["expressions"] = {column: tuple(pair) for column, pair in (values.get("expressions") or {}).items()}
    return TableRequest(**values)


def _options(document: Mapping[str, Any]) -> VerifyOptions:
    _refuse_unknown(document, VerifyOptions)
    return VerifyOptions(**document)


def _refuse_unknown(document: Mapping[str, Any], into: type[VerifyRequest | TableRequest | VerifyOptions]) -> None:
    unknown = sorted(document.keys() - {field.name for field in fields(into)})
    if unknown:
        raise UsageError(
            f"the job's request has a field {unknown[0]!r} that this version does not know", "use a newer Tieout"
        )
