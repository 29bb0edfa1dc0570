"""Makes text of strangers harmless in every sink, and takes secrets out of it. Pure.

Every text passes `sanitize` on its way to people; `redaction` runs before anything is stored.
"""
