"""What `gateval init` and `gateval doctor` know about a repository."""
