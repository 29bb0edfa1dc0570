"""Agents in the formats that other tools keep in git, read as Agents. One more is a reader here
and one line in `registry.py`.
"""
