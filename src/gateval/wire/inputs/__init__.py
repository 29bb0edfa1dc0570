"""Formats of calls that have texts measured rather than answered, one pure file each."""
