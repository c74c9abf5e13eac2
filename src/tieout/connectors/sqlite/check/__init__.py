"""Checking an SQLite file against itself."""
