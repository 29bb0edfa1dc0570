"""The command line: arguments in, text out. What a command does is in `app` and below."""
