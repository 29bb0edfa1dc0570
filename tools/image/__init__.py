"""The image of the action: its base, its check, and the digest in `action.yml`."""
