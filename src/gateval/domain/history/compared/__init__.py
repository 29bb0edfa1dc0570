"""Runs side by side, from what was stored: two of them, or many Agents and benchmarks."""
