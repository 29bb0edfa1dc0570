"""Assertions that are made of others."""
