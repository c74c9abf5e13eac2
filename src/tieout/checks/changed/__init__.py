"""Checks of rows that were changed, as the change log tells them, against their indexes."""
