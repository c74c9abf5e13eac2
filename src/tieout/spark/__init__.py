"""The session, the data source that runs work on executors, and tables that only Spark can read."""
