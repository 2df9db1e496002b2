"""Samplers, one per file, under the names that ``infer(..., sampler=)`` takes, and what they share."""
