"""Decodes pages of PostgreSQL: tuples, their values, and chains of row versions."""
