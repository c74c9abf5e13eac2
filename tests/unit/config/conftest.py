from __future__ import annotations

import pytest

from tieout.config import secrets


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> secrets.SecretRegistry:
    """Each test has its own secrets: one test's password must not hide another's words."""
    fresh = secrets.SecretRegistry()
    monkeypatch.setattr(secrets, "_registry", fresh)
    return fresh
