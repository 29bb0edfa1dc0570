"""Assertions whose score is counted from the trace, the answer and the usage."""
