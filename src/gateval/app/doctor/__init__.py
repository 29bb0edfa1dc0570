"""What `doctor` does: it looks at the repository, the machine and GitHub."""
