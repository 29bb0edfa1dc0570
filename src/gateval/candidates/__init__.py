"""Candidates: Agents started from one revision. Nothing else in the house starts them.

A new way to start them is one file with a `Runtime`, one line in `registry.py`, one test and one
sample under `examples/runtimes/`.
"""
