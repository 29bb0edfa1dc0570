"""What a candidate is asked and what it may answer, whatever its runtime."""
