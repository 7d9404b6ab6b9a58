"""Several sources on one grid: where each lies, how it is read there, and what becomes of them."""
