"""Pure values and rules. Nothing in here reads a clock, a file, a socket or the environment."""
