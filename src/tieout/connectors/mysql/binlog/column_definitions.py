"""The definition of a column in a statement of the log, as a column. What is not understood for certain has none."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.connectors.mysql.binlog.ddl_tokens import NotUnderstood, Words
from tieout.connectors.mysql.types import logical_type
from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName

_INTEGERS = {
    **{name: name for name in ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")},
    "INTEGER": "INT",
    "INT1": "TINYINT",
    "INT2": "SMALLINT",
    "INT3": "MEDIUMINT",
    "INT4": "INT",
    "INT8": "BIGINT",
}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC", "FIXED")
_LONGEST = {"TINY": (1 << 8) - 1, "": (1 << 16) - 1, "MEDIUM": (1 << 24) - 1, "LONG": (1 << 32) - 1}
_UNBOUNDED = {f"{size}{kind}": most for size, most in _LONGEST.items() for kind in ("TEXT", "BLOB")}
_CLOCKED = ("DATETIME", "TIMESTAMP", "TIME")
_PLAIN = {"DATE": "date", "FLOAT": "float", "DOUBLE": "double"}
_NO_VALUES = ("AUTO_INCREMENT", "INVISIBLE", "FIRST", "UNIQUE", "KEY", "PRIMARY")
"""Words that change no value, and stand alone."""


def stated(name: str, at: Words) -> Column | None:
    """The column that the words behind its name define. Without its charset it has the table's.

    A TIMESTAMP may be NOT NULL without saying so.
    """
    try:
        return _Definition(at).column(name)
    except NotUnderstood:
        return None


@dataclass
class _Definition:
    at: Words
    nullable: bool = True
    charset: str | None = None
    collation: str | None = None

    def column(self, name: str) -> Column:
        kind = self._type()
        while not self.at.is_over:
            self._attribute()
        return Column(name, kind, self.nullable, collation=self.collation, charset=self.charset)

    def _type(self) -> LogicalType:
        word = self.at.take().key
        if word in ("BOOL", "BOOLEAN"):
            return logical_type("tinyint", "tinyint(1)", None, None, None, is_json=False)
        if word in _INTEGERS:
            base = _INTEGERS[word].lower()
            self._numbers(1)
            return logical_type(base, base + self._sign(), None, None, None, is_json=False)
        if word in _DECIMALS:
            numbers = self._numbers(2)
            precision, scale = (*numbers, *(10, 0)[len(numbers) :])
            full = f"decimal({precision},{scale}){self._sign()}"
            return logical_type("decimal", full, precision, scale, None, is_json=False)
        if word in ("VARCHAR", "CHAR", "VARBINARY"):
            (length,) = self._numbers(1) or (1,)
            return logical_type(word.lower(), f"{word.lower()}({length})", None, None, length, is_json=False)
        if word in _UNBOUNDED and self.at.key != "(":
            return logical_type(word.lower(), word.lower(), None, None, _UNBOUNDED[word], is_json=False)
        if word in _CLOCKED:
            (digits,) = self._numbers(1) or (0,)
            full = word.lower() + (f"({digits})" if digits else "")
            return logical_type(word.lower(), full, None, None, digits, is_json=False)
        if word in ("ENUM", "SET"):
            return self._labelled(word.lower())
        if word in _PLAIN and self.at.key not in ("(", "PRECISION"):
            base = _PLAIN[word]
            return logical_type(base, base, None, None, None, is_json=False)
        raise NotUnderstood(f"the type {word}")

    def _numbers(self, most: int) -> list[int]:
        found: list[int] = []
        if self.at.skip("("):
            while not self.at.skip(")"):
                word = self.at.take()
                if not (word.literal and word.text.isascii() and word.text.isdigit()) or len(found) == most:
                    raise NotUnderstood(f"{word.text!r} in a type")
                found.append(int(word.text))
                self.at.skip(",")
        return found

    def _sign(self) -> str:
        self.at.skip("SIGNED")
        return " unsigned" if self.at.skip("UNSIGNED") else ""

    def _labelled(self, base: str) -> LogicalType:
        labels = []
        if not self.at.skip("("):
            raise NotUnderstood("labels")
        while not self.at.skip(")"):
            word = self.at.take()
            if not word.literal or word.key:
                raise NotUnderstood("labels")
            labels.append(word.text.rstrip(" "))  # as the server stores them
            self.at.skip(",")
        return LogicalType(TypeName(base), f"{base}({','.join(map(repr, labels))})", values=tuple(labels))

    def _attribute(self) -> None:
        word = self.at.take().key
        if word == "NOT" and self.at.skip("NULL"):
            self.nullable = False
        elif word in ("CHARSET", "CHARACTER") and (word == "CHARSET" or self.at.skip("SET")):
            self.charset = self._named()
        elif word == "COLLATE":
            self.collation = self._named()
        elif word == "DEFAULT" or (word == "ON" and self.at.skip("UPDATE")):
            self._value()
        elif word == "COMMENT" and self.at.take().literal:
            pass
        elif word == "AFTER":
            self.at.part()
        elif word == "CHECK" and self.at.key == "(":
            self._skip_parentheses()
        elif word != "NULL" and word not in _NO_VALUES:
            raise NotUnderstood(f"{word!r} in the definition of a column")

    def _named(self) -> str:
        self.at.skip("=")
        word = self.at.take()
        if not word.text:
            raise NotUnderstood("a character set")
        return word.text.lower()

    def _value(self) -> None:
        """A literal, or an expression: an existing row keeps its value."""
        if self.at.key == "(":
            self._skip_parentheses()
            return
        if not self.at.skip("-"):
            self.at.skip("+")
        word = self.at.take()
        if not word.literal and not word.key:
            raise NotUnderstood("a default")
        if self.at.key == "(":
            self._skip_parentheses()

    def _skip_parentheses(self) -> None:
        depth = 0
        while not self.at.is_over:
            depth += {"(": 1, ")": -1}.get(self.at.take().key, 0)
            if depth == 0:
                return
        raise NotUnderstood("a parenthesis has no end")
