"""Answers questions about orders."""
