"""Checks that one database agrees with itself: its indexes, its constraints, its schema, its values."""
