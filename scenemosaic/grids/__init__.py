"""Pixel grids: CRS, transform, windows and blocks."""
