"""Moves rows out of and into SQLite files."""
