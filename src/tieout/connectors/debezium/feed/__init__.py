"""The files of a feed, their lines as events, and both as a change log."""
