"""Assertions that give a score between 0 and 1, as the evaluators of other tools do."""
