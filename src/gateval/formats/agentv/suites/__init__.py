"""Suites: where they are, their settings, and the Evals that they become."""
