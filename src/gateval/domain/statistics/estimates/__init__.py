"""Estimates with their intervals: rates, ratios, agreement."""
