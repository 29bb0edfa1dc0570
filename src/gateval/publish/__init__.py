"""What is written where, and in which order; always last, once everything is known."""
