"""A job that takes over what an earlier one made, and computes what has other sources."""
