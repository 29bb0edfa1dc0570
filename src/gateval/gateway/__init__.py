"""The one door for model calls: real providers, scripted models, and a local server for agents.

`upstream/endpoints.py` is light and read at start-up; everything that needs the HTTP library is
imported when a run begins.
"""
