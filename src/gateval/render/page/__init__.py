"""The page of a run: one file for a browser that needs nothing else, and no network."""
