"""The question to a candidate and its answer, the same for every runtime."""
