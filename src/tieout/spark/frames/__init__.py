"""Tables that only a Spark session can read, and what Spark computes on their rows."""
