"""What things are. Standard library only: every other room may use these."""
