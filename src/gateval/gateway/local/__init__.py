"""The local server that candidates call: sessions, limits, relaying, and the trace off the wire."""
