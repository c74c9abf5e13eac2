"""What libraries would write to stderr by themselves."""

from __future__ import annotations

import logging
import sys
import warnings

from tieout.config.secrets import SecretFilter


def quieten(verbose: bool) -> None:
    """Library logs and warnings are shown with --verbose alone, and without secrets."""
    root = logging.getLogger()
    if root.handlers:
        return
    if not verbose:
        # Without a handler Python writes warnings to stderr: py4j's tracebacks, when a job is interrupted.
        root.addHandler(logging.NullHandler())
        warnings.simplefilter("ignore")
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
    handler.addFilter(SecretFilter())
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
