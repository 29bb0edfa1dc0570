"""The one YAML reader: bytes to values with their places, within limits."""
