"""Conditional writes: one procedure for each, and what a refusal means."""
