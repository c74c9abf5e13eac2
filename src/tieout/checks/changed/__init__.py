"""CHECK … CHANGED: checks of the rows that the change log says have changed."""
