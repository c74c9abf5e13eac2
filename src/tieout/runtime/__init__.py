"""How long work runs, whatever it does: jobs, control, leases, throttles, rechecks, dispatch.

This package imports neither Spark nor the meta store: executors load parts of it.
"""
