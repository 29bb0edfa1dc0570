"""How many repetitions a comparison takes, and what may be concluded from them.

Pure functions of counts, without any I/O: a group-sequential exact design for one fixture, an exact
stratified test for one Eval, their power, and a simulation of whole runs. `docs/explanation/
statistics.md` says in plain words what is promised.
"""
