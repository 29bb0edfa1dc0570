"""Small languages that pull requests write in, each with a bound on what it can cost."""
