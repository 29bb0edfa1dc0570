"""The first half of the way, from revisions to a plan; knows ports, not adapters.

`plan.py`: revisions → snapshots (`read.py`) → `Plan`. `app/run/measure.py` goes on from the plan,
on another machine if need be: trials → `Results` → `Report`. `publish/` writes last.
"""
