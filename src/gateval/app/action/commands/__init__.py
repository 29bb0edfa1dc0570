"""Commands that people write as comments: a rerun, an explanation."""
