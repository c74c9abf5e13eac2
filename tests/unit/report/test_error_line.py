"""Errors as a user sees them."""

from __future__ import annotations

from tieout.errors import AccessError, ConfigError, UnreachableError
from tieout.report import error_line


def test_code_message_and_hint_on_one_line() -> None:
    error = AccessError("no SELECT on shop.orders", "GRANT SELECT ON shop.orders TO app")
    assert error_line(error) == "error[access]: no SELECT on shop.orders — GRANT SELECT ON shop.orders TO app"


def test_a_driver_s_message_is_one_safe_line() -> None:
    assert error_line(UnreachableError("refused\n\tby \x1b[31mdb1")) == "error[unreachable]: refused by \\x1b[31mdb1"


def test_configuration_errors_list_every_problem() -> None:
    error = ConfigError("2 problems in tieout.yaml\n  line 3: unknown key 'sorce'\n  line 9: \x07")
    assert error_line(error) == (
        "error[config]: 2 problems in tieout.yaml\n  line 3: unknown key 'sorce'\n  line 9: \\x07"
    )
