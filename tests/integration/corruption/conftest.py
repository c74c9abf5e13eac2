"""That each recipe really corrupts, and how, is proved in `make test-faults`; `make test` uses the recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return (collection_path.suffix == ".py" and not config.getoption("all_faults")) or None
