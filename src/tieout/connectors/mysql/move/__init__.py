"""Moves rows out of and into MySQL servers."""
