"""Runs a plan in the real world: isolation, candidates, gateway, signals, files."""
