"""Finding scenes: under a prefix, or by STAC. What is found comes from outside, and is checked."""
