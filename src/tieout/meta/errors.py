"""Errors of the meta store's database, as one line and what to do about it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tieout.config.secrets import scrub
from tieout.errors import MetaStoreError
from tieout.meta.location import Location


class Fault(Enum):
    """What is wrong with a store ({0} is where it is), and what its user can do."""

    FULL = "the meta store's disk is full: {0}", "free space there and resume; what was recorded before is kept"
    LOCKED = "the meta store is locked by another process: {0}", "end that process, or try again when it has finished"
    READ_ONLY = (
        "the meta store can't be written: {0}",
        "give this user the right to write the file and its directory, or set `meta` to another place",
    )
    NOT_OURS = (
        "other users could read or change the meta store, which holds values of rows: {0}",
        "set `meta` to a file in a directory of your own (a team's store: PostgreSQL or MySQL), or run as its owner",
    )
    SERVER_READ_ONLY = "the meta store's server is read-only: {0}", "set `meta` to one that accepts writes"
    NO_PRIVILEGE = (
        "the user may not create or write tables in the meta store: {0}",
        "GRANT it the right to create and change tables there; on PostgreSQL, CREATE and USAGE on the schema",
    )
    NOT_A_STORE = (
        "the meta store's file is damaged or is not a database: {0}",
        "move the file away to start a new store, or set `meta` to another file",
    )
    NO_PLACE = "the meta store can't be opened: {0}", "set `meta` to a file in a directory that exists or can be made"
    MOVED = "the meta store was moved or deleted while in use: {0}", "move it back, or start again with a new one"
    UNREADABLE = "the meta store's disk can't be read or written: {0}", "check the disk (and its quota), then resume"
    UNREACHABLE = (
        "the meta store's server can't be reached: {0}",
        "check host and port, that it runs, and that this machine may connect; then resume",
    )
    DENIED = "the meta store's server refused the user or the password: {0}", "check both in the URL of `meta`"
    NO_DATABASE = "the meta store's database or schema doesn't exist: {0}", "create it, or correct the URL of `meta`"
    TOO_LARGE = "a row is larger than the meta store's server takes: {0}", "raise its max_allowed_packet"

    def at(self, location: Location, words: str | None = None) -> MetaStoreError:
        """The error; `words` are the driver's, where only they say what to look for."""
        message, hint = self.value
        return MetaStoreError(message.format(location.shown), f"{words}; {hint}" if words else hint)


SQLITE = {
    "SQLITE_FULL": Fault.FULL,
    "SQLITE_BUSY": Fault.LOCKED,
    "SQLITE_LOCKED": Fault.LOCKED,
    "SQLITE_PROTOCOL": Fault.LOCKED,
    "SQLITE_READONLY": Fault.READ_ONLY,
    "SQLITE_PERM": Fault.READ_ONLY,
    "SQLITE_CANTOPEN": Fault.NO_PLACE,
    "SQLITE_NOTADB": Fault.NOT_A_STORE,
    "SQLITE_CORRUPT": Fault.NOT_A_STORE,
    "SQLITE_IOERR": Fault.UNREADABLE,
}

POSTGRESQL = {
    "53100": Fault.FULL,
    "55P03": Fault.LOCKED,
    "40P01": Fault.LOCKED,
    "25006": Fault.SERVER_READ_ONLY,
    "42501": Fault.NO_PRIVILEGE,
    "28P01": Fault.DENIED,
    "28000": Fault.DENIED,
    "3D000": Fault.NO_DATABASE,
    "3F000": Fault.NO_DATABASE,
    "53300": Fault.UNREACHABLE,
    "57P01": Fault.UNREACHABLE,
    "57P02": Fault.UNREACHABLE,
    "57P03": Fault.UNREACHABLE,
}

MYSQL = {
    1021: Fault.FULL,
    1114: Fault.FULL,
    3675: Fault.FULL,
    1205: Fault.LOCKED,
    1213: Fault.LOCKED,
    1290: Fault.SERVER_READ_ONLY,
    1836: Fault.SERVER_READ_ONLY,
    1044: Fault.NO_PRIVILEGE,
    1045: Fault.DENIED,
    1698: Fault.DENIED,
    1142: Fault.NO_PRIVILEGE,
    1049: Fault.NO_DATABASE,
    1040: Fault.UNREACHABLE,
    1053: Fault.UNREACHABLE,
    2002: Fault.UNREACHABLE,
    2003: Fault.UNREACHABLE,
    2006: Fault.UNREACHABLE,
    2013: Fault.UNREACHABLE,
    1153: Fault.TOO_LARGE,
}

OPERATING_SYSTEM = {
    errno.ENOSPC: Fault.FULL,
    errno.EDQUOT: Fault.FULL,
    errno.EACCES: Fault.READ_ONLY,
    errno.EPERM: Fault.READ_ONLY,
    errno.EROFS: Fault.READ_ONLY,
    errno.EIO: Fault.UNREADABLE,
}


@contextmanager
def explained(location: Location) -> Iterator[None]:
    """Turns what the database raises inside into a MetaStoreError, alone: the cause may hold values of rows."""
    try:
        yield
    except DBAPIError as error:
        raise explain(error.orig or error, location) from None
    except PoolTimeout:
        raise Fault.LOCKED.at(location) from None


@contextmanager
def connecting(location: Location) -> Iterator[None]:
    """`explained`, and what drivers let through while they connect: a certificate without a file, a host no name."""
    try:
        with explained(location):
            yield
    except (OSError, UnicodeError) as error:
        raise Fault.UNREACHABLE.at(location, _first_line(error)) from None


def explain(error: BaseException, location: Location) -> MetaStoreError:
    """The error for a driver's `error`: one line, no password, no values of rows where it can be helped."""
    fault = _fault(error, location)
    if fault is None:
        return MetaStoreError(f"the meta store at {location.shown} failed: {_first_line(error)}")
    return fault.at(location, _first_line(error) if fault is Fault.UNREACHABLE else None)


def explain_os(error: OSError, location: Location) -> MetaStoreError:
    return OPERATING_SYSTEM.get(error.errno or 0, Fault.NO_PLACE).at(location)


def _first_line(error: BaseException) -> str:
    words = str(error.args[-1]) if error.args else ""  # pymysql puts a number before them
    return (scrub(words).strip().splitlines() or [type(error).__name__])[0]


def _fault(error: BaseException, location: Location) -> Fault | None:
    if hasattr(error, "sqlite_errorname"):
        return _sqlite(error.sqlite_errorname, location)
    if error.args and isinstance(error.args[0], int):
        return MYSQL.get(error.args[0])
    if hasattr(error, "sqlstate"):
        return _postgresql(error, error.sqlstate)
    return None


def _sqlite(name: str, location: Location) -> Fault | None:
    directory = location.file.parent if location.file else None
    if name == "SQLITE_READONLY_DBMOVED" or (directory and not directory.is_dir()):
        return Fault.MOVED
    fault = SQLITE.get("_".join(name.split("_")[:2]))  # what follows says where: SQLITE_IOERR_WRITE
    if fault is Fault.UNREADABLE and directory and shutil.disk_usage(directory).free < 1 << 16:
        return Fault.FULL  # growing the -shm file on a full disk is reported as an I/O error
    if fault is Fault.NO_PLACE and directory and not os.access(directory, os.W_OK):
        return Fault.READ_ONLY
    return fault


def _postgresql(error: BaseException, sqlstate: str | None) -> Fault | None:
    if sqlstate is not None:
        return Fault.UNREACHABLE if sqlstate.startswith("08") else POSTGRESQL.get(sqlstate)
    if type(error).__name__ not in ("OperationalError", "ConnectionTimeout"):
        return None
    # libpq has no code for what goes wrong while connecting, only words.
    text = str(error)
    if "authentication failed" in text or "no password supplied" in text or "no pg_hba.conf entry" in text:
        return Fault.DENIED
    if "does not exist" in text and "certificate" not in text:
        return Fault.DENIED if 'role "' in text else Fault.NO_DATABASE
    return Fault.UNREACHABLE
