"""The product on an embedded pair of databases: made, verified, spoilt, found out, repaired."""
