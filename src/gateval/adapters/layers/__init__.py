"""Layers in files: packed, verified by digest, bounded, and put back where they were made."""
