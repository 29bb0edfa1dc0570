"""From the snapshots of a change to a plan: what changed, what runs, what the bar asks."""
