"""Results as text, JSON, CSV, JUnit and HTML, and progress while work runs."""

from tieout.report.printable import error_line
from tieout.report.render import OutputFormat, render, write

__all__ = ["OutputFormat", "error_line", "render", "write"]
