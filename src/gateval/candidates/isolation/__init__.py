"""Isolation: what stands between a candidate and everything else. One place for all runtimes.

The gate's side asks (`supervisor_client.py`); `supervisor/` is a process of its own that
starts, watches and ends candidates, and outlives a gate that is killed. It is started by path and
imports the standard library only.
"""
