"""The gate's promises, counted on the real command with a program whose pass rates are known."""
