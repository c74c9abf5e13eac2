"""Verification: what to compare, how, what differs, and what that means."""
