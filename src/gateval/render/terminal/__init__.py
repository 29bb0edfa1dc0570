"""The views for a terminal or a plain log."""
