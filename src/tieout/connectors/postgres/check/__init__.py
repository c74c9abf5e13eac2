"""Checking a PostgreSQL database against itself."""
