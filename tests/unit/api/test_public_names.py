"""What `import tieout` offers is there, and is what the reference says."""

from __future__ import annotations

import pytest

import tieout
from tieout.errors import StatementError


@pytest.mark.parametrize("name", tieout.__all__)
def test_each_public_name_leads_somewhere(name: str) -> None:
    assert getattr(tieout, name) is not None
    assert name in dir(tieout)


def test_a_database_is_checked_by_one_call(tmp_path) -> None:
    with pytest.raises(StatementError, match="CHECK"):
        tieout.check("sqlite:///shop.db", "CHEK TABLE orders", meta=f"sqlite:///{tmp_path}/meta.db")


def test_a_check_reads_as_its_document() -> None:
    from datetime import UTC, datetime

    report = tieout.CheckReport("c-1", "sqlite:///a.db", "CHECK TABLE t", datetime(2026, 1, 1, tzinfo=UTC), 1.0, ())
    assert '"kind": "check"' in report.to_json()
    assert report.to_json(indent=None).count("\n") == 0
