"""Commands that judge a change, and what they judge."""
