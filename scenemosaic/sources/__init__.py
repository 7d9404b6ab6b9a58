"""Source rasters: where they lie, what they are pinned to, what their headers say, their pixels."""
