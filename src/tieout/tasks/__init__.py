"""What a task means, for every flow that has one: which tables go together, and what would keep it from beginning."""
