"""What is wrong in the definitions of an SQLite file."""
