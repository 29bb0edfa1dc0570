"""Assertions whose score a model gives."""
