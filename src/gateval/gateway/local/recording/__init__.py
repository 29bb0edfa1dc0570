"""What a candidate does, read off its model calls: numbered steps, by conversation."""
