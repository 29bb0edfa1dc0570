"""Verdicts of earlier runs, kept in git, and what may be said again from them."""
