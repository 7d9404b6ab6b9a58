"""scenemosaic's engine: conditional commits, manifests, byte-stitched mosaics."""

__version__ = "0.1.0"
