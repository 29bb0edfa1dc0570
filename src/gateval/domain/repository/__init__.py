"""What a revision of a repository holds: paths, patterns, trees, links, and places in files."""
