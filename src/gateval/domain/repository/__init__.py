"""The content of a revision: paths, patterns, trees, links, and places in files."""
