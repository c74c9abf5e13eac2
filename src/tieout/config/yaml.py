"""YAML into plain values (mappings, lists, text, None), with the line of each.

Scalars stay text: the models know what they want, so a password of 007 keeps its zeros and a table named `no` its name.
A value that can't be read becomes a problem in a list, so that all problems are reported at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tieout.config.interpolation import InterpolationError

YamlPath = tuple[str | int, ...]

_STANDARD_TAGS = "tag:yaml.org,2002:"
_MERGE = _STANDARD_TAGS + "merge"
_NULL = _STANDARD_TAGS + "null"


class YamlSyntaxError(ValueError):
    """Text that is not YAML; `line` and `column` count from 1, and are None if not known."""

    def __init__(self, message: str, line: int | None, column: int | None) -> None:
        super().__init__(message)
        self.line, self.column = line, column


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at one path of the file."""

    path: YamlPath
    line: int
    message: str


@dataclass(slots=True)
class YamlTree:
    """`lines` has the line of every key and item, `unread` the paths whose value could not be read (and is None)."""

    data: object = None
    lines: dict[YamlPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unread: set[YamlPath] = field(default_factory=set)

    def line_of(self, path: YamlPath) -> int:
        """The line of a path; for a path that is not there, the line of its nearest parent."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(text: str, interpolate: Callable[[str], str]) -> YamlTree:
    """The one document in the text, `interpolate` applied to each value. YamlSyntaxError if it is not YAML."""
    try:
        root = YAML(typ="rt", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ", ".join(part for part in (error.context, error.problem) if part)
        raise YamlSyntaxError(message, mark.line + 1 if mark else None, mark.column + 1 if mark else None) from None
    except YAMLError as error:
        raise YamlSyntaxError(" ".join(str(error).split()), None, None) from None
    tree = YamlTree()
    if root is not None:
        tree.data = _Reader(tree, interpolate).value(root, ())
    return tree


class _Reader:
    """Walks nodes and fills a tree."""

    def __init__(self, tree: YamlTree, interpolate: Callable[[str], str]) -> None:
        self._tree = tree
        self._interpolate = interpolate
        self._open: list[Node] = []

    def value(self, node: Node, path: YamlPath) -> object:
        self._tree.lines.setdefault(path, _line(node))
        if not str(node.tag).startswith(_STANDARD_TAGS):
            self._unread(node, path, f"the tag {node.tag} is not supported")
            return None
        if any(node is container for container in self._open):
            self._unread(node, path, "an alias that contains itself")
            return None
        self._open.append(node)
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, path)
            if isinstance(node, SequenceNode):
                return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self._open.pop()

    def _scalar(self, node: Node, path: YamlPath) -> str | None:
        if node.tag == _NULL:
            return None
        try:
            return self._interpolate(node.value)
        except InterpolationError as error:
            self._unread(node, path, *error.problems)
            return None

    def _mapping(self, node: MappingNode, path: YamlPath) -> dict[str, object]:
        inherited: dict[str, object] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                inherited = self._merged(value, path) | inherited
        result: dict[str, object] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                continue
            if not isinstance(key, ScalarNode):
                self._problem(key, path, "a key should be text")
                continue
            place = (*path, key.value)
            if key.value in result:
                self._problem(key, place, f"duplicate key (first on line {self._tree.lines[place]})")
                continue
            self._tree.lines[place] = _line(key)
            result[key.value] = self.value(value, place)
        return inherited | result

    def _merged(self, node: Node, path: YamlPath) -> dict[str, object]:
        sources = node.value if isinstance(node, SequenceNode) else [node]
        result: dict[str, object] = {}
        for source in sources:
            mapping = self.value(source, path)
            if isinstance(mapping, dict):
                result = mapping | result
            else:
                self._problem(source, path, '"<<" takes a mapping, or a list of mappings')
        return result

    def _unread(self, node: Node, path: YamlPath, *messages: str) -> None:
        for message in messages:
            self._problem(node, path, message)
        self._tree.unread.add(path)

    def _problem(self, node: Node, path: YamlPath, message: str) -> None:
        self._tree.problems.append(Problem(path, _line(node), message))


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1
