"""Measures scenemosaic beside GDAL's COG driver, rio-cogeo and cp: ``make bench``."""
