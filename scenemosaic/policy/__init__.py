"""Access policies for a root and its manifest: pure, printed by ``scenemosaic policy``."""
