"""Labels: reviewed on each run, and a reason to say a stored verdict again."""
