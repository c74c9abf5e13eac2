"""Loads tieout.yaml. Everything that is wrong with it is told at once, each thing with its file, line and key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from tieout.config.interpolation import interpolate
from tieout.config.problems import path_text, problems_of
from tieout.config.secrets import scrub
from tieout.config.settings import Settings
from tieout.config.yaml_tree import Problem, YamlSyntaxError, YamlTree, read_yaml
from tieout.errors import ConfigError

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
        # What could not be read is told already; that it is also not what was wanted says nothing new.
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
