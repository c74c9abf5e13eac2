"""Bytes as engines store them, taken apart without the engine. Runs on executors; knows no connection."""
