"""What goes wrong with a slot, as our errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.faults import first_line, translated
from tieout.errors import AccessError, BusyError, LogLostError

IN_USE = "55006"
UNDEFINED = "42704"
DUPLICATE = "42710"
REFUSED = "55000"
"""What a slot can't do as it is: it was invalidated, belongs to another database, or would move backwards."""

_SEGMENT_REMOVED = "58P01"
_NO_PRIVILEGE = "42501"

START_ANEW = "changes are lost: drop the task, empty its tables and begin anew"


@contextmanager
def slot_faults(url: EndpointUrl) -> Iterator[None]:
    """Driver errors inside become EndpointErrors; BusyError if the slot is in use."""
    import psycopg

    with translated(url):
        try:
            yield
        except psycopg.Error as error:
            message = f"{url.redacted()}: {first_line(str(error), error.sqlstate)}"
            if error.sqlstate == IN_USE:
                raise BusyError(message, "end the other reader, or wait for it and try again") from None
            if error.sqlstate == _NO_PRIVILEGE:
                hint = "the user needs REPLICATION, CREATE on the database, and to own the tables that are followed"
                raise AccessError(message, hint) from None
            raise


@contextmanager
def log_faults(url: EndpointUrl) -> Iterator[None]:
    """Like slot_faults; LogLostError if slot, publication or log are gone."""
    import psycopg

    with slot_faults(url):
        try:
            yield
        except psycopg.Error as error:
            if error.sqlstate in (UNDEFINED, REFUSED, _SEGMENT_REMOVED):
                raise LogLostError(f"{url.redacted()}: {first_line(str(error), error.sqlstate)}", START_ANEW) from None
            raise
