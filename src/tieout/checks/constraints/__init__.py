"""Checks that rows keep what their tables declare."""
