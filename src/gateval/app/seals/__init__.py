"""Seals manifests, and opens what is sealed, for people on the command line."""
