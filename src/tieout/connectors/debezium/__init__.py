"""Files of Debezium's change events: a feed of rows, to move from. It has no rows to compare."""
