"""The way through, in two halves that can run on two machines; knows ports, not adapters.

`plan.py`: revisions → snapshots (`read.py`) → `Plan`. `run.py`: `Plan` → trials → `Results` →
`Report`. What is written afterwards is the business of `publish/`.
"""
