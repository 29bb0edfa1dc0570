"""The gate config: what the gate asks, and which of two rules asks more."""
