"""Verification: what stands in the store against what the manifest says of it."""
