"""The product on an embedded pair of databases: moved, verified, spoilt, found out, repaired."""
