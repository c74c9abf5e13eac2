"""Checks the definitions of a PostgreSQL database without trusting what its catalog says about itself."""
