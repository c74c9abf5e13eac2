"""Moves rows out of and into PostgreSQL."""
