"""Index checks: compares what each index holds with what its table says it should hold."""
