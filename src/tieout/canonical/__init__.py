"""Turns Arrow batches into canonical form: fields, fingerprints, digests. No database, no Spark."""
