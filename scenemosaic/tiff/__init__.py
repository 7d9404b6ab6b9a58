"""TIFF at the level of bytes: directories, block runs, and the plan of a file's layout."""
