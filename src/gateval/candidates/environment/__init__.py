"""The environment variables of candidates."""
