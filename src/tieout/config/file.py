"""Loads tieout.yaml, and reports all its problems at once, each with its file, line and key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tieout.config.field_types import Section
from tieout.config.interpolation import interpolate
from tieout.config.secrets import scrub
from tieout.config.settings import Settings
from tieout.config.yaml import Problem, YamlPath, YamlSyntaxError, YamlTree, read_yaml
from tieout.errors import ConfigError
from tieout.model.nearest import nearest, suggestion

DEFAULT_FILE = Path("tieout.yaml")


def load(path: Path | None = None, *, required: bool = True, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of a file. No path: ./tieout.yaml, or the defaults if there is none and none is required."""
    if path is None and not DEFAULT_FILE.exists():
        if required:
            raise ConfigError("no tieout.yaml here: run 'tieout init', or give --config FILE")
        return Settings()
    file = path or DEFAULT_FILE
    return _settings(file, _tree(file, os.environ if environment is None else environment))


def _tree(file: Path, environment: Mapping[str, str]) -> YamlTree:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"there is no file {file}: run 'tieout init', or give --config FILE") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not text in UTF-8") from None
    except OSError as error:
        raise ConfigError(f"can't read {file}: {error.strerror}") from None
    try:
        tree = read_yaml(text, lambda value: interpolate(value, environment))
    except YamlSyntaxError as error:
        place = "" if error.line is None else f":{error.line}:{error.column}"
        raise ConfigError(scrub(f"{file}{place}: not valid YAML: {error}")) from None
    if tree.data is None and not tree.problems:
        raise ConfigError(f"{file} is empty", "'tieout init --force' writes a commented one")
    return tree


def _settings(file: Path, tree: YamlTree) -> Settings:
    problems = list(tree.problems)
    settings = None
    try:
        settings = Settings.model_validate(tree.data, context={"endpoints": _endpoint_names(tree.data)})
    except ValidationError as error:
        # A value that could not be read is a problem already; that it also has the wrong type says nothing new.
        problems += [problem for problem in problems_of(error, Settings, tree) if problem.path not in tree.unread]
    if settings is None or problems:
        # From None: pydantic's own message would show values, and a value may be a secret.
        raise ConfigError(_summary(file, problems)) from None
    return settings


def _endpoint_names(data: object) -> list[str]:
    endpoints = data.get("endpoints") if isinstance(data, dict) else None
    return list(endpoints) if isinstance(endpoints, dict) else []


def _summary(file: Path, problems: list[Problem]) -> str:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [f"{file} has {count}:"]
    for problem in sorted(problems, key=lambda problem: problem.line):
        place = f"{path_text(problem.path)}: " if problem.path else ""
        lines.append(f"{file}:{problem.line}: {place}{problem.message}")
    return scrub("\n".join(lines))


_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "tuple_type": "a list",
    "list_type": "a list",
}


def problems_of(error: ValidationError, model: type[BaseModel], tree: YamlTree) -> list[Problem]:
    """A problem for each thing in the tree that the model refused; a mistyped key is not also reported as missing."""
    found = error.errors(include_url=False)
    refused = [details for details in found if details["type"] == "extra_forbidden"]
    meant = {_meant(details, model) for details in refused if _planned(details, model) is None}
    problems = []
    for details in found:
        if details["type"] == "missing" and details["loc"] in meant:
            continue
        path = _path_in_file(details, tree.data)
        problems.append(Problem(path, tree.line_of(path), _message(details, model)))
    return problems


def _meant(details: ErrorDetails, model: type[BaseModel]) -> tuple[str | int | None, ...]:
    *section, name = details["loc"]
    return (*section, nearest(str(name), _known_keys(model, section)))


def path_text(path: YamlPath) -> str:
    """tasks.shop.tables[0].where"""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _path_in_file(details: ErrorDetails, data: Any) -> YamlPath:
    """The path as the file has it, without the names that pydantic gives to the branches of a union."""
    path: list[str | int] = []
    *_, last = details["loc"] or (None,)
    for part in details["loc"]:
        if _has(data, part):
            path.append(part)
            data = data[part]
    if details["type"] == "missing" and isinstance(last, str):
        path.append(last)
    return tuple(path)


def _has(data: Any, part: str | int) -> bool:
    if isinstance(data, list):
        return isinstance(part, int) and part < len(data)
    return isinstance(data, dict) and part in data


def _message(details: ErrorDetails, model: type[BaseModel]) -> str:
    kind, value, context = details["type"], _shown_value(details["input"]), details.get("ctx", {})
    if kind == "extra_forbidden":
        return _refused_key(details, model)
    if kind == "missing":
        return "missing"
    if kind in _WANTED:
        return f"should be {_WANTED[kind]}, not {value}"
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        if not isinstance(details["input"], str):
            return f"should be one of {', '.join(choices)}, not {value}"
        return f"unknown value {value} ({suggestion(details['input'], choices)})"
    if kind == "value_error":
        return str(context["error"])
    if kind == "greater_than_equal":
        return f"should be at least {context['ge']}, not {value}"
    if kind == "greater_than":
        return f"should be more than {context['gt']}, not {value}"
    if kind == "string_too_short":
        return "should not be empty"
    return details["msg"]


def _refused_key(details: ErrorDetails, model: type[BaseModel]) -> str:
    if (planned := _planned(details, model)) is not None:
        return f"{planned} is not available yet: leave this key out"
    *section, name = details["loc"]
    return f"unknown key ({suggestion(str(name), _known_keys(model, section))})"


def _shown_value(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return f'"{value}"'


def _planned(details: ErrorDetails, model: type[BaseModel]) -> str | None:
    """The description of a planned key; None for an unknown key."""
    *section, name = details["loc"]
    planned = [each.not_yet for each in _sections(model, section) if _is_section(each) and issubclass(each, Section)]
    return next((keys[str(name)] for keys in planned if name in keys), None)


def _known_keys(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The keys that the section at this path may have."""
    return [name for section in _sections(model, path) for name in _fields(section)]


def _sections(model: type[BaseModel], path: Sequence[str | int]) -> list[Any]:
    """The sections that this path may lead to."""
    here: list[Any] = [model]
    for part in path:
        # A part that leads nowhere is the name of a union's branch: stay here.
        here = [inner for outer in here for inner in _inside(outer, part)] or here
    return here


def _inside(annotation: Any, part: str | int) -> Iterator[Any]:
    if _is_section(annotation):
        if part in (fields := _fields(annotation)):
            yield from _alternatives(fields[str(part)])
    elif get_origin(annotation) is dict:
        yield from _alternatives(get_args(annotation)[1])
    elif get_origin(annotation) is tuple and isinstance(part, int):
        yield from _alternatives(get_args(annotation)[0])


def _alternatives(annotation: Any) -> Iterator[Any]:
    """The sections, mappings and lists that a type may be, without its annotations."""
    if _is_section(annotation) or get_origin(annotation) in (dict, tuple):
        yield annotation
    elif hasattr(annotation, "__metadata__"):
        yield from _alternatives(annotation.__origin__)
    else:
        for choice in get_args(annotation):
            yield from _alternatives(choice)


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _fields(annotation: Any) -> dict[str, Any]:
    if not _is_section(annotation):
        return {}
    return {field.alias or name: field.annotation for name, field in annotation.model_fields.items()}
