"""Bands chosen, scaled, cast, or computed from others: pure, pixel by pixel."""
