"""# The page on benchmark runs, line by line

What the documentation of a hosted service for benchmarks states of runs, tasks, criteria and
scores, and how it holds here, where a benchmark is a manifest in git that the gate runs. Where the
two differ, the reason stands beside it.
"""
