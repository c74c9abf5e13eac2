"""Types of fields of tieout.yaml: names, numbers, durations, URLs. They take text, as the file has nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationInfo

from tieout.config.durations import parse_duration, parse_positive_duration
from tieout.config.urls import NOT_YET_SCHEMES, EndpointUrl, parse_url
from tieout.errors import ConfigError
from tieout.model.nearest import suggestion

_TOLERANCE = re.compile(r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<relative>\s+relative)?")


class Section(BaseModel):
    """A mapping of the file. Unknown keys are errors, the values are frozen, and docstrings describe the keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)

    not_yet: ClassVar[Mapping[str, str]] = {}
    """Planned keys and what each will be. Nothing acts on them yet, so a file with one is refused."""


def _seconds(value: Any) -> Any:
    return parse_duration(value) if isinstance(value, str) else value


def _positive_seconds(value: Any) -> Any:
    return parse_positive_duration(value) if isinstance(value, str) else value


def _list_of_one(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _nothing_is_empty(value: Any) -> Any:
    # "tasks:" with every entry commented out reads as null.
    return {} if value is None else value


def _url(value: Any) -> EndpointUrl:
    if isinstance(value, EndpointUrl):
        return value
    if not isinstance(value, str):
        raise ValueError("should be a URL")
    try:
        return parse_url(value)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _available(url: EndpointUrl) -> EndpointUrl:
    if url.scheme in NOT_YET_SCHEMES:
        raise ValueError(f"{url.scheme}:// is not available yet")
    return url


def _endpoint(value: str, info: ValidationInfo) -> str:
    if ":" in value or "@" in value:
        return _available(_url(value)).reveal()
    known = (info.context or {}).get("endpoints")
    if known is not None and value not in known:
        raise ValueError(f'no endpoint is named "{value}" ({suggestion(value, known)})')
    return value


def _tolerance(value: str) -> str:
    match = _TOLERANCE.fullmatch(value.strip())
    if match is None or not 0 < float(match["number"]) < math.inf:
        raise ValueError(f'"{value}" is not a tolerance (write 0.001, or "1e-9 relative")')
    return match["number"] + (" relative" if match["relative"] else "")


Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0), BeforeValidator(_seconds)]
PositiveSeconds = Annotated[float, Field(gt=0), BeforeValidator(_positive_seconds)]
Names = Annotated[tuple[Text, ...], BeforeValidator(_list_of_one)]
Tolerance = Annotated[str, AfterValidator(_tolerance)]
Url = Annotated[EndpointUrl, PlainValidator(_url)]
AvailableUrl = Annotated[Url, AfterValidator(_available)]
"""The URL of an endpoint that a connector, or Spark, can open."""
EndpointReference = Annotated[Text, AfterValidator(_endpoint)]
"""The name of an endpoint, or a URL. The context may list the names as `endpoints`; else every name passes."""
MayBeEmpty = BeforeValidator(_nothing_is_empty)
