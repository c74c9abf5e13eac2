"""Everything Tieout raises on purpose, as one tree.

TieoutError
├── UsageError            the request itself can't be carried out (flags, names, combinations)
│   └── StatementError        an invalid CHECK statement; the message's lines point at the error
├── ConfigError           tieout.yaml or a URL is wrong
├── EndpointError         a database or lake did not do what Tieout asked
│   ├── UnreachableError      host, port, TLS, time-out, dropped connection   (a retry can help)
│   ├── AccessError           wrong password, missing privilege
│   ├── MissingObjectError    no such database, table or column
│   ├── ReadError             data that could not be read
│   ├── LogLostError          the change log no longer reaches back far enough
│   ├── WriteError            data that could not be written
│   ├── FullError             it has no room left
│   ├── BusyError             it gave way to another transaction                   (a retry can help)
│   └── FencedError           another mover has taken over the task
├── UnsupportedError      an endpoint lacks what the request needs
├── MetaStoreError        the meta store can't be opened, read or written
└── SparkFailure          the Spark session can't be started, or lost its executors

Each has a stable `code` (documented, shown with the message) and says whether a retry can
help. They are raised on executors and travel to the driver, so they survive pickling: a subclass
adds no constructor arguments.
"""

from __future__ import annotations

from typing import ClassVar


class TieoutError(Exception):
    """The root. `message` is one line for the user: what is wrong; `hint`: what to do about it."""

    code: ClassVar[str] = "error"
    transient: ClassVar[bool] = False

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(TieoutError):
    code = "usage"


class StatementError(UsageError):
    code = "statement"


class ConfigError(TieoutError):
    code = "config"


class EndpointError(TieoutError):
    code = "endpoint"


class UnreachableError(EndpointError):
    code = "unreachable"
    transient = True


class AccessError(EndpointError):
    code = "access"


class MissingObjectError(EndpointError):
    code = "missing-object"


class ReadError(EndpointError):
    code = "read"


class DamagedIndexError(ReadError):
    code = "damaged-index"


class LogLostError(EndpointError):
    code = "log-lost"


class WriteError(EndpointError):
    code = "write"


class FullError(EndpointError):
    code = "full"


class BusyError(EndpointError):
    code = "busy"
    transient = True


class FencedError(EndpointError):
    code = "fenced"


class UnsupportedError(TieoutError):
    code = "unsupported"


class MetaStoreError(TieoutError):
    code = "meta-store"


class SparkFailure(TieoutError):
    code = "spark"
