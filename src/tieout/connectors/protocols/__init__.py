"""The whole surface of a connector: what flows ask of an engine. What is optional is data."""
