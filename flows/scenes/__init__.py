"""One scene in its run: what is missing, its batches, its count, its repair."""
