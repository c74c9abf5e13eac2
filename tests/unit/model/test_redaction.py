"""Values of rows, hidden: in what was found, and in what engines say."""

from __future__ import annotations

import pytest

from tieout.errors import ReadError
from tieout.model.differences import Difference, DifferenceKind, ValuePair
from tieout.model.failures import Failure, FailureKind
from tieout.model.redaction import Redaction, is_hidden, values_hidden, without_values

SECRET = "4929 1234"


def test_keys_and_hashes_remain() -> None:
    found = Difference("t", DifferenceKind.CHANGED, {"id": "7"}, {"card": ValuePair(SECRET, None)})
    hidden = Redaction().difference(found, keyed=True)
    assert hidden.key == {"id": "7"}
    assert is_hidden(hidden.columns["card"].source)
    assert hidden.columns["card"].target is None, "NULL is no value"
    assert SECRET not in repr(hidden)


def test_without_a_key_the_whole_row_is_one() -> None:
    found = Difference("t", DifferenceKind.MISSING, {"a": SECRET, "b": None}, copies=3)
    hidden = Redaction().difference(found, keyed=False)
    assert is_hidden(hidden.key["a"])
    assert (hidden.key["b"], hidden.copies) == (None, 3)


def test_hashes_tell_values_apart_within_a_run_and_nothing_else() -> None:
    one, other = Redaction(), Redaction()
    assert one.value("a") == one.value("a") != one.value("b")
    assert one.value("a") != other.value("a"), "who knows what a value may be can't try it"
    assert one.value(one.value("a")) == one.value("a")
    assert repr(one) == "Redaction()"


def test_a_failure() -> None:
    details = {"entry.card": SECRET, "row.card": "x", "rule": "card <> ''", "error": f'bad value: "{SECRET}"'}
    found = Failure(FailureKind.CHECK_VIOLATION, "d", "t", ("card",), primary_key={"id": "7"}, details=details)
    hidden = Redaction().failure(found)
    assert hidden.primary_key == {"id": "7"}
    assert hidden.details["rule"] == "card <> ''"
    assert hidden.details["error"] == "bad value: ***"
    assert SECRET not in repr(hidden)


def test_a_column_may_have_any_name() -> None:
    found = Failure(FailureKind.CHECK_VIOLATION, "d", "t", ("rule",), details={"rule": SECRET})
    assert SECRET not in repr(Redaction().failure(found))


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ('invalid input syntax for type integer: "4929 1234"', "invalid input syntax for type integer: ***"),
        ('value "4929 1234" is out of range for type integer', "value *** is out of range for type integer"),
        ('relation "orders" does not exist', 'relation "orders" does not exist'),
        ('column "x" of relation "orders" is gone', 'column "x" of relation "orders" is gone'),
        ("Duplicate entry '4929 1234' for key 'orders.card'", "Duplicate entry *** for key 'orders.card'"),
        ("Duplicate entry 'it's 4929 1234' for key 'card'", "Duplicate entry *** for key 'card'"),
        ("Incorrect integer value: '4929 1234' for column `d`.`t`.`c` at row 1", None),
        ("Truncated incorrect DOUBLE value: '4929 1234'", "Truncated incorrect DOUBLE value: ***"),
        ("Data too long for column 'card' at row 7", "Data too long for column 'card' at row 7"),
        ("Unknown column 'x' in 'field list'", "Unknown column 'x' in 'field list'"),
        ("Table 'shop.t' doesn't exist", "Table 'shop.t' doesn't exist"),
        ("Access denied for user 'me'@'host' (using password: YES)", None),
        ("Key (card)=(4929 1234) already exists.", "Key (card)=(***) already exists."),
        ("column card: '4929 1234' is no binary value", "column card: *** is no binary value"),
        ("could not convert 'a' and '4929 1234'", "could not convert ***"),
        ("not quoted at all", "not quoted at all"),
        ("never closed: '4929 1234", "never closed: ***"),
        ("invalide pour le type integer : « 4929 1234 »", "invalide pour le type integer : ***"),
        ("ungültig: „4929 1234“", "ungültig: ***"),
    ],
)
def test_what_engines_quote(message: str, shown: str | None) -> None:
    told = without_values(message)
    assert SECRET not in told
    if shown is not None:
        assert told == shown


def test_errors_that_leave_quote_nothing() -> None:
    with pytest.raises(ReadError) as caught, values_hidden(True):
        raise ReadError(f"t: bad value: '{SECRET}'", "look at it")
    assert (caught.value.message, caught.value.hint) == ("t: bad value: ***", "look at it")
    with pytest.raises(ReadError, match=SECRET), values_hidden(False):
        raise ReadError(f"t: bad value: '{SECRET}'")
