"""The views for machines, and the files that `gateval init` writes."""
