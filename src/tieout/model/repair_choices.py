"""How a failure can be repaired: automatically, by somebody's decision, or not at all. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tieout.model.failures import Failure, FailureKind


class Category(StrEnum):
    AUTOMATIC = "automatic"
    """There is one right way, and it loses no row."""
    DECISION = "decision"
    """There are several ways, and only people know which is right."""
    NOT_REPAIRABLE = "not_repairable"
    """Tieout can't repair it; the suggestion says what people can do."""


class Choice(StrEnum):
    """How to repair a failure. People choose for a kind of failure, or for one failure."""

    REBUILD = "rebuild"
    """Rebuild the index from the table."""
    CREATE = "create"
    """The row is right: rebuild the index, which then has it."""
    DELETE = "delete"
    """Delete the row, after copying it to quarantine."""
    QUARANTINE = "quarantine"
    """Copy the entry to quarantine, and rebuild its index without it."""
    RESTORE = "restore"
    """Insert the row again that the entries describe, as far as they know it."""
    SET_NULL = "set_null"
    SET_DEFAULT = "set_default"
    REPLACE = "replace"
    """With a value that comes with the choice."""
    INSERT_PARENT = "insert_parent"
    KEEP_FIRST = "keep_first"
    """Keep the duplicate with the lowest key or address, and delete the others."""
    KEEP_LAST = "keep_last"
    RECOMPUTE = "recompute"
    """Write the row again unchanged, which computes its generated values."""
    ADVANCE = "advance"
    """Continue the sequence after the highest value."""
    LEAVE = "leave"
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Advice:
    """`choices` are the possible repairs; an automatic repair takes the first. LEAVE is always possible."""

    category: Category
    suggestion: str
    choices: tuple[Choice, ...] = ()


def _automatic(suggestion: str, choice: Choice) -> Advice:
    return Advice(Category.AUTOMATIC, suggestion, (choice,))


def _decision(suggestion: str, *choices: Choice) -> Advice:
    return Advice(Category.DECISION, suggestion, choices)


def _by_hand(suggestion: str) -> Advice:
    return Advice(Category.NOT_REPAIRABLE, suggestion)


_VALUE = (Choice.REPLACE, Choice.SET_NULL, Choice.DELETE)

_REMEDIES = {
    FailureKind.MISSING_INDEX_ENTRY: _decision(
        "create the entry (the index is rebuilt), or delete the row: it may be one that should be gone",
        Choice.CREATE,
        Choice.DELETE,
    ),
    FailureKind.DANGLING_INDEX_ENTRY: _decision(
        "quarantine the entry and rebuild the index, or restore the row: if several indexes have it, it may be lost",
        Choice.QUARANTINE,
        Choice.RESTORE,
    ),
    FailureKind.STALE_INDEX_ENTRY: _automatic("rebuild the index: the table is right", Choice.REBUILD),
    FailureKind.WRONG_ROW_REFERENCE: _automatic(
        "rebuild the index; the entry's values go to quarantine", Choice.REBUILD
    ),
    FailureKind.WRONG_STORED_VALUE: _automatic("rebuild the index: the table is right", Choice.REBUILD),
    FailureKind.DUPLICATE_INDEX_ENTRY: _automatic("rebuild the index", Choice.REBUILD),
    FailureKind.INDEX_ORDER: _automatic("rebuild the index: its collation or an operator has changed", Choice.REBUILD),
    FailureKind.INVALID_INDEX: _automatic(
        "rebuild the index; a unique one stays invalid as long as there are duplicates", Choice.REBUILD
    ),
    FailureKind.PRIMARY_KEY_VIOLATION: _decision(
        "keep the first or the last of the rows and delete the others, or delete one by its id",
        Choice.KEEP_FIRST,
        Choice.KEEP_LAST,
        Choice.DELETE,
    ),
    FailureKind.UNIQUE_VIOLATION: _decision(
        "keep the first or the last of the rows and delete the others, or give some of them other values",
        Choice.KEEP_FIRST,
        Choice.KEEP_LAST,
        Choice.DELETE,
        Choice.SET_NULL,
        Choice.REPLACE,
    ),
    FailureKind.CHECK_VIOLATION: _decision(
        "replace the value, set it to NULL, or delete the row", Choice.REPLACE, Choice.SET_NULL, Choice.DELETE
    ),
    FailureKind.NOT_NULL_VIOLATION: _decision(
        "give the column a value, its default, or delete the row", Choice.REPLACE, Choice.SET_DEFAULT, Choice.DELETE
    ),
    FailureKind.FOREIGN_KEY_VIOLATION: _decision(
        "insert the parent, set the reference to NULL or to its default, or delete the row",
        Choice.INSERT_PARENT,
        Choice.SET_NULL,
        Choice.SET_DEFAULT,
        Choice.DELETE,
    ),
    FailureKind.INVALID_INDEX_DEFINITION: _by_hand("drop the index, and create it as it should be"),
    FailureKind.INVALID_VIEW: _by_hand("replace the view by one that reads what is there (CREATE OR REPLACE VIEW)"),
    FailureKind.MISSING_REFERENCE: _by_hand("create what it refers to again, or drop the object"),
    FailureKind.INVALID_FOREIGN_KEY: _by_hand("give the parent its key back, or drop the foreign key"),
    FailureKind.SEQUENCE_BEHIND: _automatic("continue the sequence after the highest value", Choice.ADVANCE),
    FailureKind.INVALID_DEFAULT: _by_hand("give the column another default (ALTER TABLE … ALTER COLUMN … SET DEFAULT)"),
    FailureKind.INVALID_GENERATED_COLUMN: _by_hand("repair what the expression uses, or give the column another one"),
    FailureKind.INVALID_VALUE: _decision("replace the value, set it to NULL, or delete the row", *_VALUE),
    FailureKind.INVALID_ENCODING: _decision("replace the text, set it to NULL, or delete the row", *_VALUE),
    FailureKind.VALUE_OUT_OF_RANGE: _decision("replace the value, set it to NULL, or delete the row", *_VALUE),
    FailureKind.INVALID_JSON: _decision("replace the document, set it to NULL, or delete the row", *_VALUE),
    FailureKind.WRONG_GENERATED_VALUE: _automatic("write the row again: the value is then computed", Choice.RECOMPUTE),
    FailureKind.ENGINE_FINDING: _by_hand("look it up in the engine's manual; restore the table from a backup"),
}

UNKNOWN = _by_hand("read the check's message")


def advice_for(kind: FailureKind) -> Advice:
    return _REMEDIES.get(kind, UNKNOWN)


def advice_on(failure: Failure) -> Advice:
    """A row without a key or an address can't be changed: then, Tieout repairs only an index."""
    found = advice_for(failure.kind)
    if failure.primary_key is not None or failure.place is not None:
        return found
    if failure.kind is FailureKind.MISSING_INDEX_ENTRY:
        return Advice(found.category, found.suggestion, (Choice.CREATE,))
    if failure.kind in _OF_ROWS:
        return Advice(Category.NOT_REPAIRABLE, f"{found.suggestion}; by hand, since the row has no key or address")
    return found


_OF_ROWS = {
    kind
    for kind, each in _REMEDIES.items()
    if {Choice.DELETE, Choice.RECOMPUTE} & set(each.choices) and kind is not FailureKind.MISSING_INDEX_ENTRY
}
