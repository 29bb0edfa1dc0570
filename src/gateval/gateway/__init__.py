"""The one door for model calls: real providers, scripted models, and a local server for agents.

`providers` and `upstream` are light and read at start-up; everything that needs the HTTP library
is in `http_client`, `door` and `server`, which are imported when a run begins.
"""
