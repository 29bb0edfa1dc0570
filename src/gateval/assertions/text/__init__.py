"""Assertions on the final message: its text, or the JSON in it."""
