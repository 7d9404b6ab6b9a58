"""The documents: their commands run, their pages build, their reference is complete."""
