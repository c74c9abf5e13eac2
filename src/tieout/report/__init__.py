"""What was found, in words: text, JSON, CSV, JUnit, HTML; and what is being done, while it is done."""

from tieout.report.printable import error_line
from tieout.report.render import OutputFormat, render, write

__all__ = ["OutputFormat", "error_line", "render", "write"]
