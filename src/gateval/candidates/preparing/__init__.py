"""What an Agent gets before its first trial: its folder, its set-up, layers that several share."""
