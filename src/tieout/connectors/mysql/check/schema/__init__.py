"""What is wrong in the definitions of a database of a MySQL server."""
