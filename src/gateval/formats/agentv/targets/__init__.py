"""Targets: the files that hold them, and the Agents that they become."""
