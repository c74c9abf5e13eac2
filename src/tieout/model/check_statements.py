"""What a CHECK statement asks for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Family(StrEnum):
    """A family of checks."""

    INDEX = "index"
    CONSTRAINT = "constraint"
    SCHEMA = "schema"
    VALIDITY = "validity"


EVERYTHING = frozenset(Family)


class EngineChecker(StrEnum):
    """Whether to run the engine's own checker."""

    SAFE = "safe"
    """Only where it just reads."""
    EXTENDED = "extended"
    """Also where it marks what it finds as corrupted."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Named:
    """A table, as the user wrote it; without a schema it belongs to the default one."""

    name: str
    schema: str | None = None

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class CheckStatement:
    """One statement. Without `tables` it is about all of `database`.

    `indexes` and `constraints` name those to check; empty: all, if their family is checked. `changed`: only rows that
    were changed since their last check. `as_of` is a past moment in the engine's own format. `detached`: as a job that
    nobody waits for.
    """

    text: str
    tables: tuple[Named, ...] = ()
    database: str | None = None
    families: frozenset[Family] = EVERYTHING
    indexes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    changed: bool = False
    as_of: str | None = None
    detached: bool = False
