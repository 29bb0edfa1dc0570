"""Scorers of experiments: a score between 0 and 1 against what the case's `reference` says."""
