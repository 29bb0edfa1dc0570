"""Trials: bounded concurrency, one finished trial at a time to disk, order that does not matter."""
