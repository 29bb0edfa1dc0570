"""What a revision holds: its tree, the contents of its files, and both written into a folder."""
