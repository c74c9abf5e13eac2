"""Index checks: what the table says an index should hold against what it holds."""
