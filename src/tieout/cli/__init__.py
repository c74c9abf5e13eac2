"""The command line: one small file for each command. A command parses, calls one function of `api`, and writes."""
