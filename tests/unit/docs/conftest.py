"""Where the documents are."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def docs() -> Path:
    return Path(__file__).parents[3] / "docs"
