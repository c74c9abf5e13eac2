"""The binary log of MariaDB and MySQL, read as a change log."""

from tieout.connectors.mysql.binlog.log import BinlogLog

__all__ = ["BinlogLog"]
