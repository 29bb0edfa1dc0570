"""One run of one fixture: its steps, its model calls, what a judge said, how it ended."""
