"""Prefect Blocks: validated configuration that yields a frozen, picklable spec."""
