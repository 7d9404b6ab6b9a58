"""Preflight: whether store and manifest really enforce the conditions that all rests on."""
