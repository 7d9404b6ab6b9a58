"""Prefect flows and the command line: composition and control flow only."""
