"""What is wrong in the definitions of a PostgreSQL database, without trusting what its catalog says of itself."""
