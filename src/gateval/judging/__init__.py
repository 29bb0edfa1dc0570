"""The judge: what it is asked, what counts as an answer, and whether its evidence is real.

`prompt.py` builds the question and keeps the transcript in its place; `verdict.py` reads the
answer and checks the quotes; `judge.py` does all of it
in order, and is the only one that calls a model.
"""
