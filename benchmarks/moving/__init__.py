"""What `make bench-move` measures."""
