"""Which server answers on the MySQL protocol."""

from __future__ import annotations

from enum import StrEnum


class Flavour(StrEnum):
    MARIADB = "mariadb"
    MYSQL = "mysql"
    TIDB = "tidb"

    @classmethod
    def of(cls, version: str) -> Flavour:
        lowered = version.lower()
        return cls.TIDB if "tidb" in lowered else cls.MARIADB if "mariadb" in lowered else cls.MYSQL
