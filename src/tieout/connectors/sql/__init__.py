"""What SQL engines share: statements, sessions, targets, progress, checks."""
