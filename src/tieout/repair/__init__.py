"""Repairs what a verification or a check found: plan, execute, undo, or write the plan as SQL."""
