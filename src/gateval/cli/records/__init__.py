"""Commands that look back at runs and their records."""
