"""What leads to a mosaic: its place and revisions, row, preview, STAC item, latest.json."""
