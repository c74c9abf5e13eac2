"""A change log for SQLite, which keeps none: triggers write what changes into tables of ours, in the same file."""
