"""# The document on Evals, line by line

What the document behind `apiVersion: pai.io/v1` states of Evals, fixtures, judges and calibration,
and how it holds here. Where the two differ, the reason stands beside it.
"""
