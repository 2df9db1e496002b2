"""Data models with a prior: one in each file."""
