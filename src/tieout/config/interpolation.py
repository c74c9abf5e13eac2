"""Environment variables in tieout.yaml: ${VAR} and ${VAR:-default} are variables, and $$ is a dollar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from tieout.config.secrets import looks_secret, register_secret

_TOKEN = re.compile(r"\$\$|\$\{(?P<body>[^}]*)\}|(?P<open>\$\{)")
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?", re.DOTALL)
_USERINFO = re.compile(r"://(?P<userinfo>[^/?]*)@")


class InterpolationError(ValueError):
    """One or more variables could not be filled in; `problems` has a line for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class _Piece:
    """Literal text, or the value of a variable."""

    text: str
    variable: bool


def interpolate(text: str, environment: Mapping[str, str]) -> str:
    """The text with its variables filled in. `:-` is the default for one that is unset or empty.

    In the user and password of a URL a variable's value is percent-encoded, so that
    `mysql://${USER}:${PASSWORD}@host` works for every password; `${WHOLE_URL}` is left alone.
    """
    if "$" not in text:
        return text
    pieces = _pieces(text, environment)
    # The URL is split as the text was written: the value of a variable can't change that.
    shape = "".join("v" * len(piece.text) if piece.variable else piece.text for piece in pieces)
    userinfo = _USERINFO.search(shape)
    start, end = userinfo.span("userinfo") if userinfo else (0, 0)
    result, offset = [], 0
    for piece in pieces:
        within = start <= offset < end
        result.append(quote(piece.text, safe="") if piece.variable and within else piece.text)
        offset += len(piece.text)
    return "".join(result)


def _pieces(text: str, environment: Mapping[str, str]) -> list[_Piece]:
    pieces: list[_Piece] = []
    problems: list[str] = []
    offset = 0
    for token in _TOKEN.finditer(text):
        pieces.append(_Piece(text[offset : token.start()], variable=False))
        offset = token.end()
        if token["open"]:
            problems.append('"${" without its "}" (write "$$" for a dollar)')
        elif token["body"] is None:
            pieces.append(_Piece("$", variable=False))
        else:
            try:
                pieces.append(_Piece(_value(token["body"], environment), variable=True))
            except ValueError as error:
                problems.append(str(error))
    if problems:
        raise InterpolationError(problems)
    return [*pieces, _Piece(text[offset:], variable=False)]


def _value(body: str, environment: Mapping[str, str]) -> str:
    variable = _VARIABLE.fullmatch(body)
    if variable is None:
        raise ValueError(f'"${{{body}}}" does not name a variable (write ${{NAME}} or ${{NAME:-default}})')
    name, default = variable["name"], variable["default"]
    value = environment.get(name)
    if default is not None and not value:
        value = default
    if value is None:
        raise ValueError(f"environment variable {name} is not set (set it, or write ${{{name}:-default}})")
    if looks_secret(name):
        register_secret(value)
    return value
