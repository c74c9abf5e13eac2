"""Settings of a binary log, and what is wrong with them."""

from __future__ import annotations

from tieout.connectors.mysql.move.preflight import _of_log
from tieout.model.preflight import Severity

GOOD = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_metadata": "FULL"}


def test_a_good_log() -> None:
    assert list(_of_log({**GOOD, "binlog_expire_logs_seconds": "0"})) == []
    assert list(_of_log({**GOOD, "binlog_expire_logs_seconds": "864000.000000"})) == []


def test_no_log_at_all() -> None:
    (problem,) = _of_log({**GOOD, "log_bin": "OFF", "binlog_format": "STATEMENT"})
    assert (problem.severity, problem.message) == (Severity.PREVENTS, "the server has no binary log")


def test_what_only_mysql_has() -> None:
    found = _of_log({**GOOD, "binlog_row_value_options": "PARTIAL_JSON", "binlog_transaction_compression": "ON"})
    assert [problem.message.split(":")[0] for problem in found] == [
        "binlog_row_value_options is PARTIAL_JSON",
        "binlog_transaction_compression is ON",
    ]
