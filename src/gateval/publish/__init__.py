"""Writing on GitHub, in a fixed order; always last, once everything is known."""
