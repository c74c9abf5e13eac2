"""A feed as the source of a move."""
