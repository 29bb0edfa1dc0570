"""The process that starts and ends candidates: standard library only, no secrets, no threads.

`main.py` waits for orders of the gate and forks one `candidate_guard.py` per candidate. The guard
forks the candidate, which passes through `confine.py` before it becomes the program asked for.
"""
