"""Benchmarks: Tieout beside its peers, in the same run. They report; they do not judge."""
