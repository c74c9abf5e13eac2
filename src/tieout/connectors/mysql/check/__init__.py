"""Checking a database of a MySQL server against itself."""
