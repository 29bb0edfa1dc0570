"""The outside world behind the ports: git, the clock, files. Only `app` builds these."""
