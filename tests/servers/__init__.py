"""Private database servers for the tests: started on first use, on free ports, in temporary directories."""
