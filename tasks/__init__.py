"""Prefect tasks: one verb a file. Each calls the engine once and returns its value."""
