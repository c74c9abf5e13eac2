"""What a task means, for every flow: which tables go together, where rows go, and what would keep it from starting."""
