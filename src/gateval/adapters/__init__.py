"""The outside world behind the ports: git, the clock, files. Only `app.py` builds these."""
