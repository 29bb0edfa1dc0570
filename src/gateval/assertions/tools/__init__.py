"""Assertions on the tools that were called."""
