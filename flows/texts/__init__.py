"""What commands print, for people and as JSON. Pure."""
