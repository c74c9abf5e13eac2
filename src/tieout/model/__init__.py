"""The values that all rooms share. Standard library only."""
