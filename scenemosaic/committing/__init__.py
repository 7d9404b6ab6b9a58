"""Conditional writes: one procedure for each, what a refusal means, and what is tried again."""
