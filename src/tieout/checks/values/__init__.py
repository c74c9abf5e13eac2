"""Checks of values, and the engine's own checker."""
