"""What GitHub knows: plain values that a test sets up and looks at, and the routes read and write."""
