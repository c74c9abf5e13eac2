"""The public names of Python: `tieout.__all__` and `tieout.api.__all__`, and every type of ours that they lead to.

A name counts, not the module that it stands in: to move a class is no difference. Annotations are the text of the
source. What a docstring names ("options are those of VerifyOptions") is reached, too.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

PUBLIC = ("tieout", "tieout.api")
_WORD = re.compile(r"[A-Za-z_]\w*")


def record() -> str:
    reached = _Reached()
    sections = []
    for name in PUBLIC:
        module = import_module(name)
        sections.append(f"== {name}.__all__\n" + "".join(f"{each}\n" for each in sorted(module.__all__)))
        for each in sorted(module.__all__):
            value = getattr(module, each)
            if not inspect.isclass(value):
                sections.append(f"== {name}.{each}\n" + "\n".join(_described(each, value, reached)) + "\n")
            else:
                reached.meet(value)
    sections += [f"== {heading}\n{text}\n" for heading, text in reached.described()]
    return "\n".join(sections)


def _described(name: str, value: Any, reached: _Reached) -> Iterator[str]:
    if isinstance(value, ModuleType):  # one that can be called
        yield from _described(name, import_module("tieout.api").__dict__[name], reached)
    elif callable(value):
        yield from _signature(name, value, reached)
    else:
        yield f"{name} = {value!r}"


def _signature(name: str, function: Callable[..., Any], reached: _Reached) -> Iterator[str]:
    """A line for each parameter, so that one that is added is one line of a diff."""
    signature = inspect.signature(function)
    module = function.__module__
    yield f"def {name}"
    for parameter in signature.parameters.values():
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        only = ", keyword only" if parameter.kind is parameter.KEYWORD_ONLY else ""
        default = "" if parameter.default is parameter.empty else f" = {_shown(parameter.default)}"
        of = "" if parameter.annotation is parameter.empty else f": {reached.types(parameter.annotation, module)}"
        yield f"    {stars}{parameter.name}{of}{default}{only}"
    if signature.return_annotation is not signature.empty:
        yield f"    -> {reached.types(signature.return_annotation, module)}"
    reached.types(function.__doc__ or "", module)


class _Reached:
    """The classes and aliases of ours that were met, each described once."""

    def __init__(self) -> None:
        self._met: dict[tuple[str, str], str] = {}
        self._waiting: list[tuple[str, str]] = []

    def meet(self, found: type) -> None:
        self._meet((found.__module__, found.__name__))

    def _meet(self, place: tuple[str, str]) -> None:
        if place not in self._met:
            self._met[place] = ""
            self._waiting.append(place)

    def types(self, annotation: Any, module: str) -> str:
        """The annotation as it is written; meets every name of ours in it."""
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", repr(annotation))
        for word in _WORD.findall(text):
            if (place := _home(module, word)) is not None:
                self._meet(place)
        return text

    def described(self) -> list[tuple[str, str]]:
        """A heading and a text for each, by name."""
        while self._waiting:
            module, name = place = self._waiting.pop()
            self._met[place] = "\n".join(self._lines(module, name))
        return sorted((_heading(*place), text) for place, text in self._met.items() if text)

    def _lines(self, module: str, name: str) -> Iterator[str]:
        value = getattr(import_module(module), name)
        if not inspect.isclass(value):
            definition = _definitions(module)[name]
            if isinstance(definition, ast.Assign | ast.AnnAssign) and definition.value is not None:
                yield f"{name} = {self.types(ast.unparse(definition.value), module)}"
            return
        if issubclass(value, enum.Enum):
            yield from (f"    {member.name} = {member.value!r}" for member in value)
        elif dataclasses.is_dataclass(value):
            yield from self._fields(value)
        yield from self._methods(value)

    def _fields(self, value: Any) -> Iterator[str]:
        for each in dataclasses.fields(value):
            given = each.default if each.default is not dataclasses.MISSING else each.default_factory
            default = "" if given is dataclasses.MISSING else f" = {_shown(given)}"
            yield f"    {each.name}: {self.types(each.type, _declaring(value, each.name).__module__)}{default}"

    def _methods(self, value: type) -> Iterator[str]:
        """Those of its own that have a public name; what a base of ours has is told there."""
        for base in value.__bases__:
            if base.__module__.partition(".")[0] == "tieout":
                self.meet(base)
        for name, member in sorted(vars(value).items()):
            if name.startswith("_"):
                continue
            if isinstance(member, property) or hasattr(member, "func"):  # a cached_property
                getter = member.fget if isinstance(member, property) else member.func
                returned = inspect.signature(getter).return_annotation
                yield f"    {name} -> {self.types(returned, value.__module__)} (property)"
            elif isinstance(member, classmethod | staticmethod):
                yield from (f"    {line}" for line in _signature(name, member.__func__, self))
            elif inspect.isfunction(member):
                yield from (f"    {line}" for line in _signature(name, member, self))


def _heading(module: str, name: str) -> str:
    value = getattr(import_module(module), name)
    if not inspect.isclass(value):
        return f"{name} (alias)"
    kind = "enum " if issubclass(value, enum.Enum) else "dataclass " if dataclasses.is_dataclass(value) else "class "
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    return f"{name} ({kind}{bases})".replace(" )", ")")


def _declaring(value: type, field: str) -> type:
    return next(base for base in value.__mro__ if field in inspect.get_annotations(base))


def _shown(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_shown, value)))}}}"
    return value.__name__ if inspect.isfunction(value) or inspect.isclass(value) else repr(value)


def _home(module: str, word: str) -> tuple[str, str] | None:
    """Where a name that stands in a module is defined, if that is a type of ours."""
    definition = _definitions(module).get(word)
    if isinstance(definition, tuple):
        return _home(*definition) if definition[0].partition(".")[0] == "tieout" else None
    is_type = isinstance(definition, ast.ClassDef) or (
        definition is not None and word[:1].isupper() and word != word.upper()
    )
    return (module, word) if is_type else None


@cache
def _definitions(module: str) -> dict[str, ast.stmt | tuple[str, str]]:
    """What the text of a module binds: to a definition, or to a name of another module, for type checkers too."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return {}
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    found: dict[str, ast.stmt | tuple[str, str]] = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update({target.id: node for target in targets if isinstance(target, ast.Name)})
    return found
