"""The process that starts and ends candidates: standard library only, no secrets, no threads.

`main.py` waits for orders of the gate and forks one `warden.py` per candidate; the warden forks the
candidate itself, which passes through `confine.py` before it becomes the program asked for.
"""
