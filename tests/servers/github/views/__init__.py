"""State → the JSON that GitHub sends. Which fields there must be is GitHub's description's word."""
