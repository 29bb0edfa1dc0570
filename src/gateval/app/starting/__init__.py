"""The command `init`: what it finds, writes and says."""
