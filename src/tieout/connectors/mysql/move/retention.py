"""How long a MySQL server keeps its binary log. It does so for nobody in particular."""

from __future__ import annotations

from collections.abc import Mapping

from tieout.model.preflight import Problem, Retention, Severity

# The days are of servers that don't know the seconds; the size is of MariaDB 11.4 and later.
SETTINGS = ("binlog_expire_logs_seconds", "expire_logs_days", "max_binlog_total_size")

_DAY = 24 * 3600


def retention(settings: Mapping[str, str], left: str | None) -> Retention:
    """From what the server says of SETTINGS, as far as it knows them."""
    name = next((name for name in SETTINGS[:2] if name in settings), SETTINGS[0])
    seconds = float(settings.get(name) or 0) * (_DAY if name == "expire_logs_days" else 1)
    most = float(settings.get("max_binlog_total_size") or 0)
    limits = [f"for {_time(seconds)} ({name})"] if seconds else []
    limits += [f"for {most / (1 << 20):,.0f} MB (max_binlog_total_size)"] if most else []
    if not limits:
        return Retention(left, None, f"the server keeps its log until it is purged ({name} = 0)")
    limit = " and ".join(limits)
    warning = None
    if most or seconds < _DAY:
        wanted = 7 if name == "expire_logs_days" else 7 * _DAY
        fix = f"SET GLOBAL {name} = {wanted}" + (", max_binlog_total_size = 0" if most else "")
        message = f"the log is kept {limit}"
        warning = Problem(Severity.NOTE, message, f"{fix}: a mover that rests for longer has to begin anew")
    return Retention(left, None, f"the server keeps its log {limit}", seconds or None, warning)


def _time(seconds: float) -> str:
    return f"{seconds / _DAY:.3g} days" if seconds >= 2 * _DAY else f"{seconds / 3600:.3g} hours"
