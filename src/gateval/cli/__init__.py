"""One file per command: arguments in, text out. What a command does is in `app` and below."""
