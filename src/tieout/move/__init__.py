"""Moves tables: copies them while they are written to, then follows the source's change log."""
