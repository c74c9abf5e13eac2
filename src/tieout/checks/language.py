"""Parses CHECK statements, and the SCRUB and INSPECT statements that people know from CockroachDB. An error points at
its position and says what was expected there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError

from tieout.errors import StatementError
from tieout.model.check_statements import EVERYTHING, CheckStatement, Family, Named
from tieout.model.nearest import nearest

GRAMMAR = r"""
start: statement ";"?
?statement: check_tables | check_database | scrub_table | scrub_database | inspect_table | inspect_database

check_tables: _CHECK _TABLE tables [what] [changed] [as_of]
check_database: _CHECK _DATABASE name [validity] [changed] [as_of]
?what: indexes | constraints | validity
indexes: _INDEX names
constraints: _CONSTRAINT names
validity: _VALIDITY
changed: _CHANGED
as_of: _AS _OF [_SYSTEM _TIME] moment

scrub_table: _EXPERIMENTAL _SCRUB _TABLE table [as_of] [_WITH _OPTIONS scrub_options]
scrub_database: _EXPERIMENTAL _SCRUB _DATABASE name [as_of]
scrub_options: scrub_option ("," scrub_option)*
?scrub_option: index_option | constraint_option | physical
index_option: _INDEX (all | "(" names ")")
constraint_option: _CONSTRAINT (all | "(" names ")")
physical: _PHYSICAL

inspect_table: _INSPECT _TABLE table [as_of] [_WITH _OPTIONS inspect_options]
inspect_database: _INSPECT _DATABASE name [as_of] [_WITH _OPTIONS inspect_options]
inspect_options: inspect_option ("," inspect_option)*
?inspect_option: index_option | detached
detached: _DETACHED

all: _ALL
tables: table ("," table)*
table: name ["." name]
names: name ("," name)*
name: WORD | DOUBLE_QUOTED | BACK_QUOTED
moment: STRING | NUMBER

_ALL.2: /ALL(?![\w$])/i
_AS.2: /AS(?![\w$])/i
_CHANGED.2: /CHANGED(?![\w$])/i
_CHECK.2: /CHECK(?![\w$])/i
_CONSTRAINT.2: /CONSTRAINT(?![\w$])/i
_DATABASE.2: /DATABASE(?![\w$])/i
_DETACHED.2: /DETACHED(?![\w$])/i
_EXPERIMENTAL.2: /EXPERIMENTAL(?![\w$])/i
_INDEX.2: /INDEX(?![\w$])/i
_INSPECT.2: /INSPECT(?![\w$])/i
_OF.2: /OF(?![\w$])/i
_OPTIONS.2: /OPTIONS(?![\w$])/i
_PHYSICAL.2: /PHYSICAL(?![\w$])/i
_SCRUB.2: /SCRUB(?![\w$])/i
_SYSTEM.2: /SYSTEM(?![\w$])/i
_TABLE.2: /TABLE(?![\w$])/i
_TIME.2: /TIME(?![\w$])/i
_VALIDITY.2: /VALIDITY(?![\w$])/i
_WITH.2: /WITH(?![\w$])/i

WORD: /[^\W\d][\w$]*/
DOUBLE_QUOTED: /"(?:[^"]|"")+"/
BACK_QUOTED: /`(?:[^`]|``)+`/
STRING: /'(?:[^']|'')*'/
NUMBER: /-?\d+(?:\.\d+)?/

%import common.WS
%ignore WS
%ignore /--[^\n]*/
%ignore /\/\*(?:[^*]|\*(?!\/))*\*\//
"""

WORDS = {
    "WORD": "a name",
    "DOUBLE_QUOTED": "a name",
    "BACK_QUOTED": "a name",
    "STRING": "a moment in quotes",
    "NUMBER": "a moment in quotes",
    "COMMA": '","',
    "DOT": '"."',
    "LPAR": '"("',
    "RPAR": '")"',
    "SEMICOLON": "the end",
    "$END": "the end",
}
"""Names of the grammar's terminals in messages; a keyword is its own name."""


_DATA = frozenset({Family.SCHEMA, Family.VALIDITY})
"""What VALIDITY and PHYSICAL check: everything that is neither an index nor a constraint."""


def parse_statement(text: str) -> CheckStatement:
    """Raises StatementError for any other text."""
    try:
        statement: CheckStatement = _Reader(text).transform(_parser().parse(text))
    except UnexpectedInput as error:
        raise _misplaced(text, error) from None
    except VisitError as error:
        raise error.orig_exc from None
    return statement


def split_statements(text: str) -> list[str]:
    """The statements of a file: each ends with a semicolon outside quotes and comments."""
    found, start = [], 0
    for token in _lexed(text):
        if token.type == "SEMICOLON":
            position = token.start_pos or 0
            found.append(text[start:position])
            start = position + 1
    return [each.strip() for each in [*found, text[start:]] if _lexed(each)]


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", propagate_positions=True)


def _lexed(text: str) -> list[Token]:
    try:
        return list(_parser().lex(text, dont_ignore=False))
    except UnexpectedCharacters as error:
        raise _misplaced(text, error) from None


class _Option:
    """A part of a statement that may occur once."""

    def __init__(self, name: str, families: frozenset[Family], **parts: Any) -> None:
        self.name = name
        self.families = families
        self.parts = parts


class _Reader(Transformer[Token, CheckStatement]):
    """Turns the parse tree into a statement. Its methods are the grammar's rules; an omitted part is None."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def start(self, found: list[Any]) -> CheckStatement:
        return found[0]  # type: ignore[no-any-return]

    def check_tables(self, found: list[Any]) -> CheckStatement:
        tables, what, changed, as_of = found
        return self._statement([what], EVERYTHING, tables=tables, changed=changed is not None, as_of=as_of)

    def check_database(self, found: list[Any]) -> CheckStatement:
        database, what, changed, as_of = found
        return self._statement([what], EVERYTHING, database=database, changed=changed is not None, as_of=as_of)

    def scrub_table(self, found: list[Any]) -> CheckStatement:
        table, as_of, options = found
        return self._statement(options or [], EVERYTHING, tables=(table,), as_of=as_of)

    def scrub_database(self, found: list[Any]) -> CheckStatement:
        database, as_of = found
        return self._statement([], EVERYTHING, database=database, as_of=as_of)

    def inspect_table(self, found: list[Any]) -> CheckStatement:
        table, as_of, options = found
        return self._statement(options or [], frozenset({Family.INDEX}), tables=(table,), as_of=as_of)

    def inspect_database(self, found: list[Any]) -> CheckStatement:
        database, as_of, options = found
        return self._statement(options or [], frozenset({Family.INDEX}), database=database, as_of=as_of)

    def _statement(
        self, options: Iterable[_Option | None], unless_given: frozenset[Family], **parts: Any
    ) -> CheckStatement:
        given = [option for option in options if option is not None]
        names = [option.name for option in given]
        for name in names:
            if names.count(name) > 1:
                raise _at(self._text, self._text.upper().rindex(name), f"{name} is given twice")
        families = frozenset().union(*(option.families for option in given)) or unless_given
        for option in given:
            parts |= option.parts
        return CheckStatement(self._text.strip().rstrip(";").rstrip(), families=families, **parts)

    def indexes(self, found: list[Any]) -> _Option:
        return _Option("INDEX", frozenset({Family.INDEX}), indexes=found[0])

    def constraints(self, found: list[Any]) -> _Option:
        return _Option("CONSTRAINT", frozenset({Family.CONSTRAINT}), constraints=found[0])

    def validity(self, found: list[Any]) -> _Option:
        return _Option("VALIDITY", _DATA)

    def physical(self, found: list[Any]) -> _Option:
        return _Option("PHYSICAL", _DATA)

    def detached(self, found: list[Any]) -> _Option:
        return _Option("DETACHED", frozenset(), detached=True)

    def changed(self, found: list[Any]) -> bool:
        return True

    def all(self, found: list[Any]) -> tuple[str, ...]:
        return ()

    index_option = indexes
    constraint_option = constraints
    scrub_options = inspect_options = list

    def as_of(self, found: list[Any]) -> str:
        return str(found[-1])

    def moment(self, found: list[Token]) -> str:
        text = str(found[0])
        return text[1:-1].replace("''", "'") if text.startswith("'") else text

    def tables(self, found: list[Named]) -> tuple[Named, ...]:
        return tuple(found)

    def table(self, found: list[Any]) -> Named:
        first, second = found
        return Named(first) if second is None else Named(second, first)

    def names(self, found: list[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(found))

    def name(self, found: list[Token]) -> str:
        text = str(found[0])
        quote = text[0]
        return text[1:-1].replace(quote * 2, quote) if quote in '"`' else text


def _misplaced(text: str, error: UnexpectedInput) -> StatementError:
    place = cast("int", error.pos_in_stream)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        place = len(text.rstrip())
    found = str(error.token) if isinstance(error, UnexpectedToken) else _word_at(text, place)
    expected = {each.lstrip("_") for each in _accepted(text[:place])}
    words = _called(expected)
    wanted = " or ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} or {words[-1]}"
    shown = "the end" if not found else found if '"' in found else f'"{found}"'
    return _at(text, place, f"expected {wanted}, not {shown}", _meant(found, expected) if place else None)


def _accepted(before: str) -> set[str]:
    """The terminals that may follow."""
    state = _parser().parse_interactive(before)
    state.exhaust_lexer()
    return set(state.accepts())  # type: ignore[no-untyped-call]


def _at(text: str, place: int, message: str, hint: str | None = None) -> StatementError:
    """The message, and below it the line with a mark at the position."""
    begin = text.rfind("\n", 0, place) + 1
    line = text[begin:].split("\n", 1)[0]
    number = text.count("\n", 0, place) + 1
    where = f"column {place - begin + 1}" if "\n" not in text.strip() else f"line {number}, column {place - begin + 1}"
    return StatementError(f"{message}, at {where}\n  {line}\n  {' ' * (place - begin)}^", hint)


def _word_at(text: str, place: int) -> str:
    rest = text[place:].split(maxsplit=1)
    return rest[0] if rest else ""


def _called(terminals: Iterable[str]) -> list[str]:
    """Names first, then keywords, then signs, the end last: each once."""
    words = sorted({WORDS.get(each, each) for each in terminals}, key=lambda w: (w == "the end", not w[0].isalpha(), w))
    return words or ["the end"]


def _meant(found: str, expected: Iterable[str]) -> str | None:
    close = nearest(found.upper(), [each for each in expected if each not in WORDS])
    return f"did you mean {close}?" if close else None
