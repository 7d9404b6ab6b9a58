"""Repair: what is wrong is replaced where it is still the very version that was inspected."""
