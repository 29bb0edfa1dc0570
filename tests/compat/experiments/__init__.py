"""# The article on evals, line by line

What the article "Evals - testing AI agents" states of experiments, golden sets, scorers and sets,
and how it holds here, where an experiment is a manifest in git that the gate runs. Where the two
differ, the reason stands beside it.
"""
