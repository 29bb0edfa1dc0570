"""The records of runs: what a run leaves, and what looking back makes of many."""
