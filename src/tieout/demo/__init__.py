"""The demo: two embedded databases are moved, verified, damaged, checked and repaired."""
