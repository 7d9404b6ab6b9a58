"""Tests of the bench: what it works out, not what it measures."""
