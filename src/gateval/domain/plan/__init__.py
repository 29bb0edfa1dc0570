"""What will run, and why: values only. `domain/planning` makes them."""
