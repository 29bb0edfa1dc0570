"""The judge: what it is asked, what counts as an answer, and whether its evidence is real.

`prompt` builds the question, with `exhibit` and `neutral` keeping the transcript in its place;
`verdict` reads the answer; `evidence` checks the quotes; `judge` does all of it in order, and is
the only one that calls a model.
"""
