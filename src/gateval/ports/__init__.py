"""The outside world as the inner rooms see it. Adapters fulfil these; `app` hands them in.

One file for each thing asked for, and no list of them here: a command loads what it uses.
"""
