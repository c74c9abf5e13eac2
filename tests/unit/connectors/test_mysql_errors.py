"""The table of MySQL's error codes: what each flow makes of them."""

from __future__ import annotations

import pymysql
import pytest

from tieout.config.urls import parse_url
from tieout.connectors.mysql.errors import MEANINGS, explained, meaning_of, translated
from tieout.errors import AccessError, BusyError, FullError, ReadError, UnreachableError

URL = parse_url("mysql://u@h/d")


def test_what_has_nothing_to_do_with_a_definition_is_inconclusive() -> None:
    surroundings = [
        code
        for code, meaning in MEANINGS.items()
        if meaning.busy or meaning.contention or meaning.read_only or issubclass(meaning.error, AccessError | FullError)
    ]
    assert {1037, 1038, 1041, 1290, 1836} <= set(surroundings)
    assert [code for code in surroundings if not MEANINGS[code].inconclusive] == []


@pytest.mark.parametrize("code", [1026, 3, 126])
def test_a_full_disk_has_many_codes(code: int) -> None:
    assert meaning_of(code, 'Error writing file (Errcode: 28 "No space left on device")').error is FullError


def test_a_table_that_the_server_made_for_a_sort_is_not_damaged() -> None:
    assert meaning_of(1034, "Index for table '/tmp/#sql_1.MAI' is corrupt; try to repair it").error is ReadError


@pytest.mark.parametrize("code", [1205, 1213, 1020, 1317, 1969, 3024, 1037, 1038, 1041])
def test_what_a_mover_retries(code: int) -> None:
    error = explained(pymysql.OperationalError(code, "not now")).meaning.for_mover("not now")
    assert (type(error), error.hint) == (BusyError, None)


def test_a_readers_errors() -> None:
    with pytest.raises(ReadError, match="not this"), translated(URL):
        raise pymysql.DataError(1366, "not this")
    with pytest.raises(UnreachableError, match="run it again"), translated(URL):
        raise pymysql.OperationalError(2013, "gone")


def test_a_connection_that_was_closed() -> None:
    with pytest.raises(UnreachableError), translated(URL):
        raise pymysql.InterfaceError(0, "")
    assert explained(pymysql.InterfaceError(0, ""), "lost").meaning.hint == "lost"


@pytest.mark.parametrize("words", ["No space left on device", "Errcode: 28", "CERTIFICATE_VERIFY_FAILED"])
def test_a_value_that_a_message_quotes_has_no_meaning(words: str) -> None:
    assert meaning_of(1062, f"Duplicate entry '{words}' for key 'u'").collides
    assert meaning_of(1366, f"Incorrect integer value: '{words}' for column `a`").error is not FullError


@pytest.mark.parametrize(
    "text",
    [
        'Error writing file (Errcode: 28 "No space left on device")',
        "Error writing file './a' (OS errno 28 - No space left on device)",
        'Got error 28 "No space left on device" from storage engine InnoDB',
        "Got error 28 - 'No space left on device' from storage engine",
    ],
)
def test_how_servers_say_that_a_disk_is_full(text: str) -> None:
    assert meaning_of(1030, text).error is FullError


def test_an_error_of_the_driver_says_nothing_about_a_definition() -> None:
    assert explained(pymysql.InternalError("Packet sequence number wrong - got 3 expected 1")).meaning.inconclusive
