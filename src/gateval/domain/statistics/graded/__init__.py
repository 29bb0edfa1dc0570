"""Comparing scores between 0 and 1 in place of passes: exact permutation tests.

What a score is of (a case, an axis, a run of a benchmark) does not matter here: each unit has its
scores on both sides, in the order of repetitions.
"""
