"""Verification: what to compare, how, what differs, and what that means."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """`tieout.verify(…)` is `tieout.api.verify(…)`, though Python finds this package by that name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return import_module("tieout.api").verify(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
