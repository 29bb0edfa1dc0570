"""Agents in the formats that other tools keep in git, read as Agents. One more is one file here
and one line in `registry.py`.
"""
