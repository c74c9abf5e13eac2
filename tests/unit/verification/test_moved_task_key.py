"""A moved task's `key:` is refused by a verification, as by a move: it has the key that its mover uses."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tieout import api
from tieout.errors import UnsupportedError
from tieout.model.requests import Meaning, TableRequest, VerifyRequest


def test_the_key_is_not_ignored(tmp_path: Path) -> None:
    urls = [f"sqlite:///{tmp_path / side}" for side in ("source", "target")]
    for side in ("source", "target"):
        with closing(sqlite3.connect(tmp_path / side)) as file:
            file.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, ref TEXT)")
    keyed = VerifyRequest(*urls, (TableRequest("t", key=("ref",)),), task="shop", meaning=Meaning.MOVED)
    with pytest.raises(UnsupportedError, match="t: a move does not support `key` yet"):
        api.explain(keyed)
    preflight = api.preflight(keyed, f"sqlite:///{tmp_path / 'meta.db'}")
    assert "a move does not support `key` yet" in preflight.problems[0].message
