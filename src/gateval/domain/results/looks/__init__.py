"""Which trials come next, look by look, and what ends a run early."""
