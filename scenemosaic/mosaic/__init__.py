"""The mosaic: tiles' compressed blocks stitched under one header, never decoded."""
