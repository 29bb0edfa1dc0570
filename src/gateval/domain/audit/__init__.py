"""The audit log: what an entry holds, and the chain that makes changes to it visible."""
