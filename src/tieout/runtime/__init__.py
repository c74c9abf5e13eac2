"""The runtime of every flow: jobs, control, leases, throttles, rechecks, dispatch of work, resumable ranges.

This package imports neither Spark nor the meta store: executors load parts of it.
"""
