"""Recordings of model calls: what stands in a file, and the folder that holds the files."""
