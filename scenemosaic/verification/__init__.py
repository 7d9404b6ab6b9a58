"""Verification: what stands in the store against what the manifest says of it.

Everything here reads, and nothing here writes.
"""
