"""The lowest of a very large mosaic's top levels, made box by box by tasks of their own."""
