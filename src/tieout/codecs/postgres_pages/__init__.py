"""Pages of PostgreSQL: where tuples lie in them, the values that they hold, and chains of row versions."""
