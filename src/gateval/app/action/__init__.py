"""The GitHub Action: `gateval action`, in a runner's container or on the runner itself.

`gate.py` is the way through, readable top to bottom; `context.py` builds the real world for it.
"""
