"""Cases of a test that are of `make test-faults` alone."""

from __future__ import annotations

from typing import Any

import pytest


def later(*values: Any) -> Any:
    """A case that is like one that `make test` runs, and takes seconds."""
    return pytest.param(*values, marks=pytest.mark.thorough)
