"""What servers of other versions say of how long they keep their log."""

from __future__ import annotations

import pytest

from tieout.connectors.mysql.move.source import retention_of as retention

LIMITS = {
    "MariaDB 11.4": (
        {"binlog_expire_logs_seconds": "864000", "expire_logs_days": "10.0", "max_binlog_total_size": "10737418240"},
        "the server keeps its log for 10 days (binlog_expire_logs_seconds) and for 10,240 MB (max_binlog_total_size)",
        "SET GLOBAL binlog_expire_logs_seconds = 604800, max_binlog_total_size = 0",
    ),
    "MySQL 5.7": (
        {"expire_logs_days": "0"},
        "the server keeps its log until it is purged (expire_logs_days = 0)",
        None,
    ),
    "MariaDB 10.5": (
        {"expire_logs_days": "0.5"},
        "the server keeps its log for 12 hours (expire_logs_days)",
        "SET GLOBAL expire_logs_days = 7",
    ),
    "MySQL 8": (
        {"binlog_expire_logs_seconds": "2592000"},
        "the server keeps its log for 30 days (binlog_expire_logs_seconds)",
        None,
    ),
}


@pytest.mark.parametrize("server", LIMITS)
def test_a_server_s_settings(server: str) -> None:
    settings, limit, fix = LIMITS[server]
    found = retention(settings, None)
    assert found.limit == limit
    assert (found.warning and (found.warning.fix or "").split(":")[0]) == fix


def test_a_log_that_was_not_read_for_long() -> None:
    found = retention({"binlog_expire_logs_seconds": "864000"}, None)
    assert found.warning_words(3600) is None
    words = found.warning_words(6 * 24 * 3600)
    assert words is not None
    assert words.endswith("no mover has read all of it for 144.0 hours: run one before the log is gone")
