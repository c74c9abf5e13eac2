"""Which server answers on the MySQL protocol."""

from __future__ import annotations

from enum import StrEnum


class ServerKind(StrEnum):
    """The servers that speak the protocol."""

    MARIADB = "mariadb"
    MYSQL = "mysql"
    TIDB = "tidb"

    @classmethod
    def of(cls, version: str) -> ServerKind:
        lowered = version.lower()
        return cls.TIDB if "tidb" in lowered else cls.MARIADB if "mariadb" in lowered else cls.MYSQL
