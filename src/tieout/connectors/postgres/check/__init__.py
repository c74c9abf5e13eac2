"""Checks a PostgreSQL database against itself."""
