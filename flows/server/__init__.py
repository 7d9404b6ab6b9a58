"""Prefect's server: which one, what it serves and keeps, and how long it is waited for."""
