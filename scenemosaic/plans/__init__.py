"""Plans: pinned sources with a recipe, and the job ID that their bytes make."""
