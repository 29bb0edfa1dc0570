"""What GitHub tells the gate and what the gate tells GitHub, as values."""
