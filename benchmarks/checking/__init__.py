"""Checks, timed."""
