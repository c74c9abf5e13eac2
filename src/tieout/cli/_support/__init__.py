"""What several commands share: their context, their options, and where their output goes."""
