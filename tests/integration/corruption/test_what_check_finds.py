"""The table in the documentation is what is found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corruption.shown import DOCUMENT, document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.timeout(900)
def test_every_fault_is_told_as_the_document_says(spark: SparkSession, tmp_path: Path) -> None:
    assert document(spark, tmp_path) == DOCUMENT.read_text(encoding="utf-8"), "run tools/what_check_finds.py"
