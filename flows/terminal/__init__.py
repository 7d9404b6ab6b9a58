"""The command line's streams, progress for people, and how Ctrl-C ends it."""
