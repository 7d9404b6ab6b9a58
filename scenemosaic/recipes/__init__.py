"""The recipe: everything that decides the pixels."""
