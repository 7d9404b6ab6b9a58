"""Scenes whose runs another run starts: found, planned, handed over, and followed."""
