"""What earlier runs measured, and the proof that they did: baselines, agreement, own record."""
