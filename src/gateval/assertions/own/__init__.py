"""Checks of people's own: programs of the repository that assess a trial."""
